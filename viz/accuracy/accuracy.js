(looks) => {
  // What every stop of the slider shows is on the page already; nothing is asked of the server.
  for (const part of document.querySelectorAll("#accuracy-table [data-looks]")) {
    part.hidden = Number(part.dataset.looks) !== looks;
  }
  const chart = document.querySelector("#accuracy-chart .js-plotly-plot");
  const rings = chart?.layout?.meta?.rings?.[String(looks)];
  if (!rings || !window.Plotly) return [];
  const moved = {};
  const named = (list) => (list ?? []).findIndex((item) => item.name === "slider");
  const line = named(chart.layout.shapes), label = named(chart.layout.annotations);
  if (line >= 0) Object.assign(moved, { [`shapes[${line}].x0`]: looks, [`shapes[${line}].x1`]: looks });
  if (label >= 0) {
    const text = looks === 1 ? "1 look" : `${looks} looks`;
    Object.assign(moved, { [`annotations[${label}].x`]: looks, [`annotations[${label}].text`]: text });
  }
  window.Plotly.update(chart, { x: [rings[0]], y: [rings[1]] }, moved, [chart.data.length - 1]);
  return [];
}
