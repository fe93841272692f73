// Panels of the page are asked for one by one; the address holds the whole state. Without a script,
// controls are a form, links are links, and the page comes complete.
document.body.classList.add("scripted");
const element = (id) => document.getElementById(id);
const form = () => element("form");
const MARKS = "#marks[data-one='1']:is([data-size='2'], [data-size='3']) > svg :is(.mark, .cell)";
const RANGE = ["low", "high"];
const SELECTION = ["bin", "page", ...RANGE];
const BELOW = [...SELECTION, "tab"]; // what changes nothing but the panel below
const PLAIN = ["bins=0", "tab=bins", "low=0", "high=1"]; // what an address need not say
const OF_ROWS = ["model", "by", "group", "region", "repair"]; // a region was found in these
const PROGRESS = /^(<progress .*\n)*/;
const running = {}; // what each panel waits for
let shown = null; // the address whose diagram is there

const read = (query) => new URLSearchParams(query);
const tabOf = (query) => read(query).get("tab") || "bins";

// The address of a state, with some changes; what is empty is left out.
function address(query, changes = {}) {
  const fields = read(query);
  for (const [name, value] of Object.entries(changes)) fields.set(name, value);
  for (const [name, value] of [...fields]) if (value === "" || PLAIN.includes(`${name}=${value}`)) fields.delete(name);
  return `?${fields}`;
}

const without = (query, names) => { const fields = read(query); names.forEach((name) => fields.delete(name)); return fields; };

// The address of what is chosen in the form, of which one field was changed.
function chosen(changed) {
  const fields = read(new FormData(form()));
  const groups = fields.get("groups");
  const kept = without(fields, RANGE.includes(changed) ? ["groups"] : ["groups", ...RANGE]);
  return address(kept, groups && changed === "groups" ? {lens: `groups:${groups}`} : {});
}

// The address without what changes nothing but the panel below.
function above(query) {
  const fields = without(query, BELOW);
  fields.sort();
  return `${fields}`;
}

// Little room is for answers: there, settings wait until they are asked for.
const narrow = matchMedia("(max-width: 1000px)");
function fold(place) {
  place.querySelectorAll(".settings").forEach((each) => { each.open = !narrow.matches; });
}

const title = (details) => details.querySelector("summary").textContent;

async function panel(name, query) {
  const place = element(name);
  running[name]?.abort();
  const controller = running[name] = new AbortController();
  place.setAttribute("aria-busy", "true");
  if (name === "below" && tabOf(query) !== place.dataset.tab) place.innerHTML = '<p class="wait soft">Working …</p>';
  try {
    const answer = await fetch(`panel/${name}${query}&live=1`, {signal: controller.signal});
    const text = await received(answer, place);
    if (!answer.ok) throw new Error(text);
    const opened = new Map([...place.querySelectorAll("details")].map((each) => [title(each), each.open]));
    const kept = place.contains(document.activeElement) ? document.activeElement.name : null;
    place.innerHTML = text;
    fold(place);
    for (const each of place.querySelectorAll("details")) each.open = opened.get(title(each)) ?? each.open;
    place.dataset.tab = tabOf(query);
    if (kept) place.querySelector(`[name="${CSS.escape(kept)}"]`)?.focus();
    prepare(place);
  } finally {
    if (!controller.signal.aborted) place.removeAttribute("aria-busy");
  }
}

async function load(query, names) {
  const trouble = element("trouble");
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

// The text of an answer, which begins with how much of the work is done.
async function received(answer, place) {
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    text += part.value;
    const latest = text.match(PROGRESS)[1];
    if (!latest) continue;
    place.querySelector("progress")?.remove();
    place.insertAdjacentHTML("afterbegin", latest);
  }
  return text.replace(PROGRESS, "");
}

// Show the state of an address: all of it, or the panel below if the rest is there.
function go(query) {
  if (query !== (location.search || "?")) history.pushState(null, "", query);
  document.querySelectorAll("nav.tabs a").forEach((link) => {
    const to = tabOf(link.search);
    link.href = address(query, {tab: to});
    if (to === tabOf(query)) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  });
  const same = shown === above(query);
  shown = above(query);
  point();
  return load(query, same ? ["controls", "below"] : ["controls", "diagram", "verdict", "below"]);
}

const toTabs = () => element("below").scrollIntoView();

// Show the rows of a mark, or of a range of predictions.
function choose(selection) {
  toTabs();
  go(address(without(location.search, SELECTION), {...selection, tab: "rows"}));
}

const marks = () => [...document.querySelectorAll(MARKS)];

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
document.addEventListener("keydown", (event) => {
  if (!["Enter", " "].includes(event.key) || !event.target.matches(MARKS)) return;
  event.preventDefault();
  choose({bin: marks().indexOf(event.target)});
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
  if (filled.length > 1) go(chosen("groups"));
}

let changed = ""; // the field that was changed last, which a form that is sent is about
document.addEventListener("submit", (event) => { event.preventDefault(); go(chosen(changed)); });
document.addEventListener("change", (event) => {
  if (event.target.form !== form()) return;
  changed = event.target.name;
  const {group, tab: below, found} = form().elements;
  if (found && OF_ROWS.includes(changed)) found.value = "";
  if (changed === "by") {
    if (group) group.value = "";
    if (event.target.value) below.value = "groups";
    toTabs();
  }
  go(chosen(changed));
});
document.addEventListener("input", (event) => {
  const {type, name, value, previousElementSibling: output} = event.target;
  if (type === "range") output.value = name === "bins" && value === "0" ? "default" : value;
});
addEventListener("popstate", () => go(location.search || "?"));

// Marks can be reached by keys; dragging across a picture of two outcomes selects rows.
function prepare(place) {
  takeNotes(place);
  place.querySelectorAll("[data-turn]").forEach(turnable);
  const svg = place.querySelector("#marks:not([data-size='4']) > svg");
  if (!svg) return;
  svg.setAttribute("role", "group");
  for (const mark of marks()) set(mark, {tabindex: 0, role: "button", "aria-label": mark.dataset.note || "bin"});
  if (svg.parentNode.dataset.size === "2") brush(svg);
  point();
}

// Where the horizontal axis of the picture is, and what is at its ends.
function axis() {
  const [low, high, square] = element("marks").dataset.axis.split(" ").map(Number);
  const [left, right] = square ? [92, 392] : [54, 430];
  return {low, left, scale: (right - left) / (high - low)};
}

// Mark in the picture what is selected.
function point() {
  const query = read(location.search);
  marks().forEach((mark, i) => mark.setAttribute("aria-pressed", String(i) === query.get("bin")));
  shade(RANGE.some((name) => query.has(name)) ? [Number(query.get("low") || 0), Number(query.get("high") || 1)] : null);
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
load(location.search || "?", ["verdict", "below"]);
