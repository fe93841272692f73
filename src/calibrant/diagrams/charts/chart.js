// What a chart says on hovering: at once, and on a phone too, unlike the browser's own titles.
const tip = document.body.appendChild(document.createElement("div"));
tip.className = "tip";
tip.hidden = true;
function takeNotes(place) {
  for (const title of place.querySelectorAll("svg title")) {
    title.parentNode.dataset.note = title.textContent;
    title.remove();
  }
}
takeNotes(document);

function show(event) {
  const found = event.target.closest("[data-note]");
  tip.hidden = !found;
  if (!found) return;
  tip.textContent = found.dataset.note;
  const box = found.getBoundingClientRect();
  const left = box.left + box.width / 2 - tip.offsetWidth / 2;
  tip.style.left = Math.max(8, Math.min(left, innerWidth - tip.offsetWidth - 8)) + "px";
  const above = box.top - tip.offsetHeight - 8;
  tip.style.top = (above > 0 ? above : box.bottom + 8) + "px";
}

document.addEventListener("pointerover", show);
document.addEventListener("keydown", (event) => { if (event.key === "Escape") tip.hidden = true; });
addEventListener("scroll", () => { tip.hidden = true; }, {passive: true});

// A tetrahedron turns under the mouse, a finger or the arrow keys, and never by itself.
function turnable(svg) {
  let [azimuth, elevation, scale, distance] = svg.dataset.turn.split(" ").map(Number);
  const numbers = (point) => point.split(",").map(Number);
  const layers = {edge: -Infinity, name: Infinity}; // edges are behind everything, names in front
  const parts = [...svg.querySelectorAll("[data-at]")].map((node) => (
    {node, points: node.dataset.at.split(" ").map(numbers), layer: layers[node.getAttribute("class")]}
  ));

  function seen([x, y, z]) {
    const [sa, ca, se, ce] = [Math.sin(azimuth), Math.cos(azimuth), Math.sin(elevation), Math.cos(elevation)];
    const depth = ce * (ca * x + sa * y) + se * z;
    const nearer = scale * distance / (distance - depth);
    return {x: nearer * (ca * y - sa * x), y: nearer * (se * (ca * x + sa * y) - ce * z), depth};
  }

  function put(node, [first, last]) {
    if (node.tagName === "circle") return set(node, {cx: first.x, cy: first.y});
    if (node.tagName === "line") return set(node, {x1: first.x, y1: first.y, x2: last.x, y2: last.y});
    if (last) return putArrow(node, first, last);
    const upright = Math.abs(first.y) > Math.abs(first.x);
    const down = upright ? Math.sign(first.y) * 8 * (node.children.length - 1) : 0;
    const anchor = Math.abs(first.x) < 30 ? "middle" : first.x > 0 ? "start" : "end";
    set(node, {transform: `translate(${first.x} ${first.y + down})`, "text-anchor": anchor});
  }

  function putArrow(node, tail, tip) {
    const [dx, dy] = [tip.x - tail.x, tip.y - tail.y];
    const length = Math.max(Math.hypot(dx, dy), 1e-9);
    const head = Math.min(10, 0.6 * length) / length;
    const [x, y, u, v] = [tip.x - head * dx, tip.y - head * dy, -0.45 * head * dy, 0.45 * head * dx];
    set(node.firstChild, {x1: tail.x, y1: tail.y, x2: x, y2: y});
    set(node.lastChild, {points: `${tip.x},${tip.y} ${x + u},${y + v} ${x - u},${y - v}`});
  }

  function turn(across, up) {
    azimuth -= across;
    elevation = Math.max(-1.5, Math.min(1.5, elevation + up));
    for (const part of parts) {
      const places = part.points.map(seen);
      put(part.node, places);
      part.depth = part.layer || places[places.length - 1].depth;
    }
    parts.sort((a, b) => a.depth - b.depth);
    svg.firstChild.append(...parts.map((part) => part.node));
  }

  const keys = {ArrowLeft: [-0.1, 0], ArrowRight: [0.1, 0], ArrowUp: [0, -0.1], ArrowDown: [0, 0.1]};
  svg.addEventListener("keydown", (event) => {
    if (!keys[event.key]) return;
    event.preventDefault();
    turn(...keys[event.key]);
  });
  let last = null;
  svg.addEventListener("pointerdown", (event) => {
    svg.setPointerCapture(event.pointerId);
    last = [event.clientX, event.clientY];
  });
  svg.addEventListener("pointermove", (event) => {
    if (!last) return;
    turn((event.clientX - last[0]) / 120, (event.clientY - last[1]) / 120);
    last = [event.clientX, event.clientY];
  });
  for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { last = null; });
}

function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
}

document.querySelectorAll("[data-turn]").forEach(turnable);
