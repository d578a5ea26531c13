// What every stop of the slider shows is on the page already; nothing is asked of the server.

import { formatCount } from "../core/text.js";
import { noteSettings } from "../ui/address.js";
import { describeSlider } from "../ui/slider.js";
import { drawChart, findNearest, placeRings } from "./chart.js";

// The data set and the axes that are drawn are named by the heading.
export function mountAccuracy(element, host) {
  const note = () => {
    const named = element.querySelector("[data-settings]")?.dataset.settings;
    if (named) noteSettings("accuracy", [...new URLSearchParams(named)]);
  };
  host.watch("value", note);
  note();
}

let move = () => {}; // the slider's line and rings, on the chart that is there

const sayLooks = input => `${input.value} of ${formatCount(Number(input.max), "look", "looks")}`;

// The chart is drawn for the width it has, so when the tab is opened, and again where that changes.
export function mountChart(element, host) {
  const place = element.querySelector(".accuracy-plot");
  const known = place.querySelector(".accuracy-known");
  let chart = null;
  let drawn = null;
  let width = 0;

  function draw() {
    if (!chart || !width) return;
    known.hidden = true;
    place.querySelector("svg")?.remove();
    drawn = drawChart(chart, width);
    place.prepend(drawn.svg);
    place.closest(".accuracy-chart")?.classList.toggle("accuracy-named", drawn.isNamed);
  }

  function read() {
    const text = host.value();
    if (!text) return;
    chart = JSON.parse(text);
    place.chart = chart;
    draw();
  }

  move = looks => {
    if (!chart) return;
    chart.looks = looks;
    if (drawn) placeRings(drawn, chart);
  };
  place.addEventListener("pointermove", event => {
    const box = place.getBoundingClientRect();
    const found = drawn && findNearest(drawn, event.clientX - box.left, event.clientY - box.top);
    known.hidden = !found;
    if (!found) return;
    known.textContent = found.lines.join("\n");
    known.style.left = `${Math.min(found.x + 12, Math.max(0, box.width - known.offsetWidth))}px`;
    known.style.top = `${Math.max(0, found.y - known.offsetHeight - 10)}px`;
  });
  place.addEventListener("pointerleave", () => {
    known.hidden = true;
  });
  new ResizeObserver(([entry]) => {
    const wide = Math.round(entry.contentRect.width);
    if (!wide || wide === width) return;
    width = wide;
    draw();
  }).observe(place);
  host.watch("value", read);
  read();
  describeSlider(element.closest(".accuracy"), "#accuracy-looks", sayLooks);
}

export function showLooks(looks) {
  for (const part of document.querySelectorAll("#accuracy-table [data-looks]")) {
    part.hidden = Number(part.dataset.looks) !== looks;
  }
  move(looks);
}
