// Panels of the page are asked for one by one; the address holds the whole state. Without a script,
// controls are a form, links are links, and slow panels come in frames.
document.body.classList.add("scripted");
const form = () => document.getElementById("form");
const trouble = document.getElementById("trouble");
const MARKS = "#marks[data-one='1']:is([data-kind='2'], [data-kind='3']) > svg :is(.mark, .cell)";
const BELOW = ["bin", "low", "high", "page", "tab"]; // what changes nothing but the panel below
const PANELS = ["controls", "diagram", "verdict", "below"];
const tab = Math.random().toString(36).slice(2, 12);
const running = {}; // what each panel waits for

function address() {
  const given = new URLSearchParams(new FormData(form()));
  const groups = given.get("groups");
  given.delete("groups");
  if (groups && form().dataset.changed === "groups") given.set("lens", `groups:${groups}`);
  for (const [name, value] of [...given]) if (value === "" || (name === "bins" && value === "0") || (name === "tab" && value === "bins")) given.delete(name);
  const told = given.toString();
  return told ? `?${told}` : "?";
}

async function panel(name, query) {
  const place = document.getElementById(name);
  const turn = (running[name]?.turn || 0) + 1;
  running[name]?.controller.abort();
  const controller = new AbortController();
  running[name] = {turn, controller};
  place.setAttribute("aria-busy", "true");
  place.classList.add("busy");
  const ticket = `${tab}${name}.${turn}`;
  const asked = new URLSearchParams(query).get("tab") || "bins";
  if (name === "below" && asked !== place.dataset.tab) place.innerHTML = '<p class="wait soft">Working …</p>';
  if (name === "verdict" || name === "below") watch(place, ticket, controller.signal);
  try {
    const answer = await fetch(`panel/${name}${query}${query.length > 1 ? "&" : ""}ticket=${ticket}`, {signal: controller.signal});
    const text = await answer.text();
    if (!answer.ok) throw new Error(text);
    const kept = place.contains(document.activeElement) ? document.activeElement.name : null;
    place.innerHTML = text;
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

async function load(query, only) {
  trouble.hidden = true;
  const asked = only || PANELS;
  const drawn = asked.includes("diagram") ? panel("diagram", query) : Promise.resolve();
  const rest = asked.filter((name) => name !== "diagram");
  // Tests take all processors: they begin when the diagram is there.
  const results = await Promise.allSettled([drawn, ...rest.map((name) => name === "verdict" ? drawn.catch(() => null).then(() => panel(name, query)) : panel(name, query))]);
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
    bar.value = Number(await answer.text());
    await new Promise((done) => setTimeout(done, 400));
  }
}

function go(query, only, toTabs) {
  if (query !== location.search && !(query === "?" && location.search === "")) history.pushState(null, "", query);
  document.querySelectorAll("nav.tabs a").forEach((link) => {
    const where = new URLSearchParams(query);
    const own = new URLSearchParams(link.search).get("tab") || "bins";
    link.toggleAttribute("aria-current", own === (where.get("tab") || "bins"));
    if (own === "bins") where.delete("tab"); else where.set("tab", own);
    link.href = `?${where}`;
  });
  if (only || toTabs) document.getElementById("tabs").scrollIntoView();
  return load(query, only);
}

document.addEventListener("click", (event) => {
  const link = event.target.closest("a[data-go]");
  if (link && !event.metaKey && !event.ctrlKey && !event.shiftKey) {
    event.preventDefault();
    const before = new URLSearchParams(location.search);
    const after = new URLSearchParams(link.search);
    for (const each of [before, after]) for (const name of BELOW) each.delete(name);
    before.sort(), after.sort();
    const same = `${before}` === `${after}`;
    if (!same) scrollTo(0, 0);
    go(link.search || "?", same ? ["controls", "below"] : undefined);
    return;
  }
  const chip = event.target.closest(".chip");
  if (chip) return regroup(chip);
  const mark = event.target.closest(MARKS);
  if (mark) choose(mark);
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
  if (filled.length > 1) go(address());
}

function choose(mark) {
  const marks = [...document.querySelectorAll(MARKS)];
  const query = new URLSearchParams(location.search);
  for (const name of ["low", "high", "page"]) query.delete(name);
  query.set("bin", marks.indexOf(mark));
  query.set("tab", "rows");
  go(`?${query}`, ["controls", "below"]);
}

document.addEventListener("submit", (event) => { event.preventDefault(); go(address()); });
document.addEventListener("change", (event) => {
  if (!event.target.closest("#form")) return;
  form().dataset.changed = event.target.name;
  if (event.target.name === "by") {
    const {group, tab: chosen} = form().elements;
    if (group) group.value = "";
    if (event.target.value) chosen.value = "groups";
  }
  go(address(), undefined, event.target.name === "by");
});
document.addEventListener("input", (event) => {
  const {type, name, value, previousElementSibling: told} = event.target;
  if (type === "range") told.value = name === "bins" && value === "0" ? "default" : value;
});
addEventListener("popstate", () => load(location.search || "?"));

// Marks can be reached and pressed by keys; dragging across a picture of two outcomes selects rows.
function prepare(place) {
  for (const title of place.querySelectorAll("svg title")) {
    title.parentNode.dataset.note = title.textContent;
    title.remove();
  }
  place.querySelectorAll("[data-turn]").forEach(turnable);
  const figure = place.querySelector("#marks");
  if (!figure || figure.dataset.kind === "4") return;
  const svg = figure.querySelector(":scope > svg");
  place.querySelectorAll(MARKS).forEach((mark) => {
    mark.setAttribute("tabindex", "0");
    mark.setAttribute("role", "button");
    mark.setAttribute("aria-label", mark.dataset.note || "bin");
    mark.addEventListener("keydown", (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); choose(mark); } });
  });
  svg.setAttribute("role", "group");
  if (figure.dataset.kind === "3") return;
  svg.dataset.brush = "1";
  brush(svg, figure.dataset.axis.split(" ").map(Number));
}

function brush(svg, [low, high, square]) {
  const [left, right] = square ? [92, 392] : [54, 430];
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const x = (event.clientX - box.left) / box.width * svg.viewBox.baseVal.width;
    return Math.max(0, Math.min(1, low + (x - left) / (right - left) * (high - low)));
  };
  let start = null;
  let area = null;
  svg.addEventListener("pointerdown", (event) => { if (!event.target.closest(".mark")) start = at(event); });
  svg.addEventListener("pointermove", (event) => {
    if (start === null) return;
    if (!area) {
      area = document.createElementNS("http://www.w3.org/2000/svg", "rect");
      svg.append(area);
    }
    const ends = [start, at(event)].sort((a, b) => a - b).map((value) => left + (value - low) / (high - low) * (right - left));
    set(area, {class: "brush", x: ends[0], width: ends[1] - ends[0], y: 10, height: 300});
  });
  addEventListener("pointerup", (event) => {
    if (start === null) return;
    const ends = [start, at(event)].sort((a, b) => a - b);
    start = null;
    area?.remove();
    area = null;
    if (!svg.isConnected || ends[1] - ends[0] < 0.01) return;
    const query = new URLSearchParams(location.search);
    for (const name of ["bin", "page"]) query.delete(name);
    query.set("low", ends[0].toFixed(3));
    query.set("high", ends[1].toFixed(3));
    query.set("tab", "rows");
    go(`?${query}`, ["controls", "below"]);
  });
}

prepare(document);
load(location.search || "?", document.querySelector("#below .wait") ? ["verdict", "below"] : ["verdict"]);
