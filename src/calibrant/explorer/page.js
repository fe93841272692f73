// Panels of the page are asked for one by one; the address holds the whole state. Without a script,
// controls are a form, links are links, and slow panels come in frames.
document.body.classList.add("scripted");
const form = () => document.getElementById("form");
const trouble = document.getElementById("trouble");
const MARKS = "#marks[data-one='1']:is([data-size='2'], [data-size='3']) > svg :is(.mark, .cell)";
const SELECTION = ["bin", "low", "high", "page"];
const BELOW = [...SELECTION, "tab"]; // what changes nothing but the panel below
const tab = Math.random().toString(36).slice(2, 12);
const running = {}; // what each panel waits for
let shown = null; // the address whose diagram is there

const read = (query) => new URLSearchParams(query);

// The address of a state, with some changes; what is empty is left out.
function address(query, changes = {}) {
  const told = read(query);
  for (const [name, value] of Object.entries(changes)) told.set(name, value);
  for (const [name, value] of [...told]) if (value === "" || `${name}=${value}` === "bins=0" || `${name}=${value}` === "tab=bins") told.delete(name);
  return `?${told}`;
}

function chosen() {
  const given = read(new FormData(form()));
  const groups = given.get("groups");
  given.delete("groups");
  return address(given, groups && form().dataset.changed === "groups" ? {lens: `groups:${groups}`} : {});
}

// The address without what changes nothing but the panel below.
function above(query) {
  const told = read(query);
  for (const name of BELOW) told.delete(name);
  told.sort();
  return `${told}`;
}

// Little room is for answers: there, settings wait until they are asked for.
const narrow = matchMedia("(max-width: 1000px)");
function fold(place) {
  place.querySelectorAll(".settings").forEach((each) => { each.open = !narrow.matches; });
}

const title = (details) => details.querySelector("summary").textContent;

async function panel(name, query) {
  const place = document.getElementById(name);
  const turn = (running[name]?.turn || 0) + 1;
  running[name]?.controller.abort();
  const controller = new AbortController();
  running[name] = {turn, controller};
  place.setAttribute("aria-busy", "true");
  place.classList.add("busy");
  const ticket = `${tab}${name}.${turn}`;
  const asked = read(query).get("tab") || "bins";
  if (name === "below" && asked !== place.dataset.tab) place.innerHTML = '<p class="wait soft">Working …</p>';
  if (name !== "controls") watch(place, ticket, controller.signal);
  try {
    const answer = await fetch(`panel/${name}${query}&ticket=${ticket}`, {signal: controller.signal});
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    const opened = new Map([...place.querySelectorAll("details")].map((each) => [title(each), each.open]));
    const kept = place.contains(document.activeElement) ? document.activeElement.name : null;
    place.innerHTML = text;
    fold(place);
    for (const each of place.querySelectorAll("details")) each.open = opened.get(title(each)) ?? each.open;
    place.dataset.tab = asked;
    if (kept) place.querySelector(`[name="${CSS.escape(kept)}"]`)?.focus();
    prepare(place);
  } finally {
    if (!controller.signal.aborted) {
      place.classList.remove("busy");
      place.removeAttribute("aria-busy");
    }
  }
}

async function load(query, names) {
  trouble.hidden = true;
  const ask = (name) => names.includes(name) ? panel(name, query) : Promise.resolve();
  const drawn = ask("diagram");
  // Tests take all processors: they begin when the diagram is there.
  const tested = drawn.catch(() => null).then(() => ask("verdict"));
  const results = await Promise.allSettled([drawn, tested, ask("controls"), ask("below")]);
  const failed = results.find((each) => each.status === "rejected" && each.reason.name !== "AbortError");
  if (!failed) return;
  trouble.textContent = failed.reason instanceof TypeError ? "The explorer has ended, or cannot be reached. Start it again and reload this page." : failed.reason.message;
  trouble.hidden = false;
}

async function watch(place, ticket, signal) {
  await new Promise((done) => setTimeout(done, 700));
  while (!signal.aborted && place.hasAttribute("aria-busy")) {
    const answer = await fetch(`progress?ticket=${ticket}`, {signal}).catch(() => null);
    if (!answer || signal.aborted || !place.hasAttribute("aria-busy")) return;
    let bar = place.querySelector("progress");
    if (!bar) {
      bar = document.createElement("progress");
      bar.setAttribute("aria-label", "Progress");
      place.prepend(bar);
    }
    const share = Number(await answer.text());
    if (share) bar.value = share;
    await new Promise((done) => setTimeout(done, 400));
  }
}

// Show the state of an address: all of it, or the panel below if the rest is there.
function go(query) {
  if (query !== (location.search || "?")) history.pushState(null, "", query);
  const own = read(query).get("tab") || "bins";
  document.querySelectorAll("nav.tabs a").forEach((link) => {
    const to = read(link.search).get("tab") || "bins";
    link.href = address(query, {tab: to});
    if (to === own) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  const same = shown === above(query);
  shown = above(query);
  point();
  return load(query, same ? ["controls", "below"] : ["controls", "diagram", "verdict", "below"]);
}

const toTabs = () => document.getElementById("below").scrollIntoView();

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-go]");
  if (link && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
    event.preventDefault();
    if (shown === above(link.search)) toTabs();
    else scrollTo(0, 0);
    go(link.search || "?");
    return;
  }
  const chip = event.target.closest(".chip");
  if (chip) return regroup(chip);
  const mark = event.target.closest(MARKS);
  if (mark) choose({bin: marks().indexOf(mark)});
});

// Classes are clicked together: each click moves one to the next of four groups.
function regroup(chip) {
  const next = (Number(chip.dataset.group) + 1) % 4;
  chip.dataset.group = next;
  chip.className = `chip g${next}`;
  const groups = [[], [], [], []];
  for (const each of chip.parentNode.children) groups[each.dataset.group].push(each.dataset.class);
  const filled = groups.filter((group) => group.length);
  form().elements.groups.value = filled.map((group) => group.join(",")).join("|");
  form().dataset.changed = "groups";
  if (filled.length > 1) go(chosen());
}

const marks = () => [...document.querySelectorAll(MARKS)];

// Show the rows of a mark, or of a range of predictions.
function choose(selection) {
  const query = read(location.search);
  for (const name of SELECTION) query.delete(name);
  toTabs();
  go(address(query, {...selection, tab: "rows"}));
}

document.addEventListener("submit", (event) => { event.preventDefault(); go(chosen()); });
document.addEventListener("change", (event) => {
  if (!event.target.closest("#form")) return;
  form().dataset.changed = event.target.name;
  const {group, tab: below, found} = form().elements;
  if (found && ["model", "by", "group", "region", "repair"].includes(event.target.name)) found.value = ""; // it was found in other rows
  if (event.target.name === "by") {
    if (group) group.value = "";
    if (event.target.value) below.value = "groups";
    toTabs();
  }
  go(chosen());
});
document.addEventListener("input", (event) => {
  const {type, name, value, previousElementSibling: told} = event.target;
  if (type === "range") told.value = name === "bins" && value === "0" ? "default" : value;
});
addEventListener("popstate", () => go(location.search || "?"));

// Marks can be reached and pressed by keys; dragging across a picture of two outcomes selects rows.
function prepare(place) {
  for (const title of place.querySelectorAll("svg title")) {
    title.parentNode.dataset.note = title.textContent;
    title.remove();
  }
  place.querySelectorAll("[data-turn]").forEach(turnable);
  const figure = place.querySelector("#marks");
  if (!figure || figure.dataset.size === "4") return;
  marks().forEach((mark, i) => {
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", mark.dataset.note || "bin");
    mark.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose({bin: i}); } });
  });
  const svg = figure.querySelector(":scope > svg");
  svg.setAttribute("role", "group");
  if (figure.dataset.size === "2") brush(svg);
  point();
}

// Where the horizontal axis of the picture is, and what is at its ends.
function axis() {
  const [low, high, square] = document.getElementById("marks").dataset.axis.split(" ").map(Number);
  const [left, right] = square ? [92, 392] : [54, 430];
  return {low, left, scale: (right - left) / (high - low)};
}

// Mark in the picture what is selected.
function point() {
  const query = read(location.search);
  marks().forEach((mark, i) => mark.setAttribute("aria-pressed", String(i) === query.get("bin")));
  shade(query.has("low") || query.has("high") ? [Number(query.get("low") || 0), Number(query.get("high") || 1)] : null);
}

function shade(range) {
  document.querySelector("#marks .brush")?.remove();
  const svg = document.querySelector("#marks[data-size='2'] > svg");
  if (!range || !svg) return;
  const {low, left, scale} = axis();
  const area = svg.appendChild(document.createElementNS("http://www.w3.org/2000/svg", "rect"));
  set(area, {class: "brush", x: left + (range[0] - low) * scale, width: (range[1] - range[0]) * scale, y: 10, height: 300});
}

function brush(svg) {
  let start = null;
  let range = null;
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const {low, left, scale} = axis();
    return Math.max(0, Math.min(1, low + ((event.clientX - box.left) / box.width * svg.viewBox.baseVal.width - left) / scale));
  };
  svg.addEventListener("pointerdown", (event) => { if (!event.target.closest(".mark")) start = at(event); });
  svg.addEventListener("pointermove", (event) => {
    if (start === null) return;
    svg.setPointerCapture(event.pointerId);
    shade(range = [start, at(event)].sort((a, b) => a - b));
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => {
    const [low, high] = range || [0, 0];
    start = range = null;
    if (high - low >= 0.01) choose({low: low.toFixed(3), high: high.toFixed(3)});
    else point();
  });
}

fold(document);
narrow.addEventListener("change", () => fold(document));
prepare(document);
shown = above(location.search);
load(location.search || "?", document.querySelector("#below .wait") ? ["verdict", "below"] : ["verdict"]);
