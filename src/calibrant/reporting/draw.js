// Draw every figure, and draw it again when the page becomes narrow or wide.
const narrow = matchMedia("(max-width: 600px)");
const buttons = {cartesian: [], ternary: [], gl3d: ["resetCameraDefault3d"]};

function place(figure, kind) {
  const layout = figure.layout;
  layout.height = kind === "cartesian" ? 440 : 540;
  layout.dragmode = kind === "gl3d" ? "turntable" : false; // else a swipe would not scroll
  if (!narrow.matches) return;
  layout.height = kind === "cartesian" ? 420 : 460;
  layout.margin = {
    cartesian: {l: 55, r: 10, t: 90, b: 50},
    ternary: {l: 45, r: 45, t: 60, b: 150},
    gl3d: {l: 0, r: 0, t: 20, b: 120},
  }[kind];
  if (kind === "cartesian") return;
  shorten(figure, layout);
  layout.legend = {...layout.legend, y: -0.12, yanchor: "top"};
  for (const trace of figure.data) {
    const bar = trace.marker && trace.marker.colorbar;
    if (!bar) continue;
    bar.title.text = "share of predictions";
    Object.assign(bar, {orientation: "h", x: 0.5, xanchor: "center", y: -0.28, yanchor: "top", len: 0.9});
    bar.title.side = "bottom";
  }
}

// The names at the corners: two lines, and space for them at the sides.
function shorten(figure, layout) {
  for (const trace of figure.data) {
    if (!trace.mode || !trace.mode.includes("text") || !Array.isArray(trace.text)) continue;
    trace.text = trace.text.map((text) => {
      const lines = text.split("<br>");
      const longest = Math.max(...lines.slice(0, 2).map((line) => line.length));
      const width = Math.min(80, Math.max(layout.margin.l, 3.5 * longest));
      if (layout.margin.l > 0) layout.margin.l = layout.margin.r = width;
      return lines.length > 2 ? lines.slice(0, 2).join("<br>") + "…" : text;
    });
  }
}

function draw() {
  for (const source of document.querySelectorAll("script[data-figure]")) {
    const box = document.getElementById(source.dataset.figure);
    const figure = JSON.parse(source.textContent);
    const kind = source.dataset.kind;
    place(figure, kind);
    Plotly.purge(box); // a figure that is only updated keeps parts of the other layout
    Plotly.newPlot(box, figure.data, figure.layout, {
      responsive: true,
      displaylogo: false,
      scrollZoom: false,
      modeBarButtons: [["toImage", ...buttons[kind]]],
      toImageButtonOptions: {filename: source.dataset.figure, scale: 2},
    });
  }
}

draw();
narrow.addEventListener("change", draw);
addEventListener("beforeprint", () => {
  for (const box of document.querySelectorAll(".plot")) Plotly.Plots.resize(box);
});
