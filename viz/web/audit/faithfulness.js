// The report of one picture: its courses are drawn here, whatever else it says comes as it is.

import { drawCurves } from "./charts.js";
import { formatCount } from "../core/text.js";
import { LABELLED, drawLineChart } from "../ui/line_chart.js";
import { describeSlider } from "../ui/slider.js";

const WIDTH = 380; // pixels, scaled to the width of the page

function drawCourse(plot) {
  const { lines, label, below } = JSON.parse(plot.dataset.chartLines);
  const last = lines[0].values.length - 1;
  const kinds = lines.map(line => ({ dots: "none", ...line, kind: `audit-${line.kind}` }));
  const chart = drawLineChart(LABELLED, { width: WIDTH, last, lines: kinds, label, below });
  chart.classList.add("audit-chart");
  for (const name of ["width", "height"]) chart.removeAttribute(name);
  plot.replaceChildren(chart);
}

const sayLooks = input => `the first ${input.value} of ${formatCount(Number(input.max), "look", "looks")}`;

export function mountFaithfulness(element, host) {
  const sizes = new ResizeObserver(entries => {
    for (const { target } of entries) {
      if (target.clientWidth) target.replaceChildren(drawCurves(target.clientWidth, JSON.parse(target.dataset.curves)));
    }
  });
  const draw = () => {
    element.querySelectorAll("[data-chart-lines]").forEach(drawCourse);
    sizes.disconnect();
    element.querySelectorAll("[data-curves]").forEach(plot => sizes.observe(plot));
  };
  describeSlider(element.closest("#audit-picture"), "#audit-looks", sayLooks);
  host.watch("value", draw);
  draw();
}
