// What a chart says on hovering: at once, and on a phone too, unlike the browser's own titles.
const tip = document.body.appendChild(document.createElement("div"));
tip.className = "tip";
tip.hidden = true;
for (const title of document.querySelectorAll("svg title")) {
  title.parentNode.dataset.note = title.textContent;
  title.remove();
}

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
addEventListener("scroll", () => { tip.hidden = true; follow(); }, {passive: true});
addEventListener("resize", follow);

// The table of contents marks the section that is read: the last one that began.
const links = [...document.querySelectorAll("nav a")];
const sections = links.map((link) => document.querySelector(link.getAttribute("href")));

function follow() {
  const atEnd = innerHeight + scrollY >= document.documentElement.scrollHeight - 2 && scrollY > 0;
  const begun = sections.map((section) => section.getBoundingClientRect().top < 120);
  const current = atEnd ? links.length - 1 : Math.max(0, begun.lastIndexOf(true));
  links.forEach((link, i) => {
    if (i !== current) return link.removeAttribute("aria-current");
    if (link.hasAttribute("aria-current")) return;
    link.setAttribute("aria-current", "true");
    const list = link.closest("nav");
    const seen = link.offsetParent ? link : link.closest("nav > ul > li"); // a phone shows models only
    list.scrollTo({left: seen.offsetLeft - list.clientWidth / 3, top: seen.offsetTop - list.clientHeight / 2});
  });
}

follow();

// Tetrahedra, in the colours of the page; again when it becomes light or dark.
function draw() {
  const colours = getComputedStyle(document.documentElement);
  const colour = (name) => colours.getPropertyValue("--" + name).trim();
  for (const source of document.querySelectorAll("script[data-figure]")) {
    const box = document.getElementById(source.dataset.figure);
    let text = source.textContent;
    for (const [name, value] of Object.entries(JSON.parse(source.dataset.colours))) {
      text = text.replaceAll(value, colour(name));
    }
    const {data, layout} = JSON.parse(text);
    Object.assign(layout, {paper_bgcolor: "rgba(0, 0, 0, 0)", font: {color: colour("ink")}, dragmode: "turntable"});
    layout.margin = {l: 0, r: 0, t: 20, b: 110};
    layout.modebar = {bgcolor: "rgba(0, 0, 0, 0)", color: colour("soft"), activecolor: colour("ink")};
    Object.assign(layout.legend, {y: -0.08, yanchor: "top"});
    for (const bar of data.map((trace) => trace.marker && trace.marker.colorbar)) {
      if (!bar) continue;
      bar.title = {text: "share of predictions", side: "bottom"};
      Object.assign(bar, {orientation: "h", x: 0.5, xanchor: "center", y: -0.17, yanchor: "top", len: 0.9});
    }
    Plotly.newPlot(box, data, layout, {
      responsive: true,
      displaylogo: false,
      scrollZoom: false,
      modeBarButtons: [["toImage", "resetCameraDefault3d"]],
      toImageButtonOptions: {filename: source.dataset.figure, scale: 2},
    });
  }
}

if (window.Plotly) {
  draw();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}
