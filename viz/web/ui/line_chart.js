// The line chart of all tabs: shares from 0 to 100 % over the number of looks.

import { percent } from "../core/text.js";
import { addTitle, drawBand, drawLine, makeScale } from "./chart.js";
import { build, buildSvg } from "./dom.js";

const HALVES = [0, 0.5, 1];
const TICK = 34; // pixels that a number below the chart needs
const DOT = 4; // pixels of the one where the page stands
const SMALL_DOT = 3.2; // pixels of those on every value

// Pixels around the drawing of lines, and its height.
export const LARGE = { height: 210, left: 44, right: 14, top: 12, bottom: 30, narrowest: 280 };
export const LABELLED = { height: 210, left: 42, right: 10, top: 8, bottom: 36, narrowest: 380 }; // with words below
export const SMALL = { height: 150, left: 44, right: 12, top: 10, bottom: 26, narrowest: 140 };

function openScale(frame, width, last) {
  const wide = Math.max(frame.narrowest, width);
  const across = wide - frame.left - frame.right;
  return {
    wide,
    across,
    x: last ? makeScale([0, last], frame.left, wide - frame.right) : () => frame.left + across / 2,
    y: makeScale([0, 1], frame.height - frame.bottom, frame.top),
  };
}

// `lines`: { values, from, kind, dash, data, dots, band }, where values are those of from, from + 1, …; `kind` is a
// class, `data` are further attributes. `dots` is "here" (where the page stands; the default), "all" or "none"; `band`
// are the lower and upper values around a line. `at` is where the page stands and `stop` a place to mark, or null.
export function drawLineChart(frame, { width, last, at = null, stop = null, lines, label, below = "" }) {
  const scale = openScale(frame, width, last);
  const { wide, x, y } = scale;
  const { height, left, right, top, bottom } = frame;
  const upright = (kind, k) => buildSvg("line", { class: kind, x1: x(k), x2: x(k), y1: top, y2: height - bottom });
  return buildSvg(
    "svg",
    { viewBox: `0 0 ${wide} ${height}`, width: wide, height, role: "img", "aria-label": label },
    HALVES.map(share => [
      buildSvg("line", { class: "tn-rule", x1: left, x2: wide - right, y1: y(share), y2: y(share) }),
      buildSvg("text", { x: left - 6, y: y(share) + 4, "text-anchor": "end" }, `${100 * share} %`),
    ]).flat(),
    drawTicks(frame, scale, last),
    below && buildSvg("text", { x: left + scale.across / 2, y: height - 4, "text-anchor": "middle" }, below),
    lines.map(line => drawBandOf(scale, line)),
    stop === null ? null : upright("tn-stop", stop),
    at === null ? null : upright("tn-here", at),
    lines.map(line => drawLineOf(scale, line, at)).flat(),
  );
}

function drawTicks(frame, { across, x }, last) {
  const every = Math.ceil((last + 1) / Math.max(2, Math.floor(across / TICK)));
  const stops = Array.from({ length: last + 1 }, (_, k) => k).filter(k => k % every === 0);
  const y = frame.height - frame.bottom + 19;
  return stops.map(k => buildSvg("text", { x: x(k), y, "text-anchor": "middle" }, String(k)));
}

const placePoints = ({ x, y }, values, from) => values.map((value, i) => [x(i + from), y(value)]);

function drawBandOf(scale, { kind, from = 0, band = null }) {
  if (band === null) return null;
  const [low, high] = band.map(values => placePoints(scale, values, from));
  return drawBand(low, high, { class: `tn-band ${kind}` });
}

function drawLineOf(scale, { values, from = 0, kind, dash = null, data = {}, dots = "here" }, at) {
  const line = drawLine(placePoints(scale, values, from), { class: kind, ...data, "stroke-dasharray": dash });
  const dot = (i, r) => buildSvg("circle", { class: kind, cx: scale.x(i + from), cy: scale.y(values[i]), r });
  if (dots === "all") {
    return [line, ...values.map((value, i) => addTitle(dot(i, SMALL_DOT), `${i + from}: ${percent(value)}`))];
  }
  // A line that ends earlier keeps its last value.
  const here = dots === "here" && at !== null ? Math.min(at - from, values.length - 1) : -1;
  return here < 0 ? [line] : [line, dot(here, DOT)];
}

// Which number of looks a place on the drawing means.
export function readPlace(drawing, frame, last, clientX) {
  const { left, width } = drawing.getBoundingClientRect();
  const share = (clientX - left - frame.left) / (width - frame.left - frame.right);
  return Math.round(Math.min(1, Math.max(0, share)) * last);
}

// What the lines mean: [{ kind, dash, text, value }].
export function drawKey(entries) {
  const items = entries.map(({ kind, dash = null, text, value = null }) =>
    build("li", {}, drawSwatch(kind, dash), text, value === null ? null : [" ", build("b", {}, value)]),
  );
  return build("ul", { class: "tn-key" }, items);
}

function drawSwatch(kind, dash) {
  const line = buildSvg("line", { class: kind, x1: 0, x2: 26, y1: 4, y2: 4, "stroke-dasharray": dash });
  return buildSvg("svg", { width: 26, height: 8, "aria-hidden": "true" }, line);
}
