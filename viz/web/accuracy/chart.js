// The chart of Accuracy vs locations: curves with their names at their ends, intervals, the slider's line and rings.
// `viz/accuracy/chart.py` says what is drawn; a library that draws any chart took most of a second to load.

import { formatCount } from "../core/text.js";
import { drawArea, drawLine, listRoundValues, makeScale, spreadNames } from "../ui/chart.js";
import { buildSvg } from "../ui/dom.js";

const LEFT = 46;
const TOP = 44;
const BOTTOM = 48;
const NAMES = { share: 0.3, most: 230, lines: 3 }; // width of the names at the right, of the chart's own
const BARE = 22; // the same without names
const LINE = 15; // pixels from one name to the next
const WRAPPED = 13; // pixels from one line of a name to the next
const FAR = 60; // pixels from a curve's end to its name, from which the leader between them is dotted: it is no curve
const BESIDE = 40; // pixels of leader and marker before a name
const LETTER = 6.2; // pixels, about
const TICKS = { x: 8, y: 7 };
const REACH = 22; // pixels around a marker in which the pointer means it

function openScale(chart, width, gutter) {
  const right = width - gutter;
  const bottom = chart.height - BOTTOM;
  const isLog = chart.x.type === "log";
  const along = makeScale(chart.x.range, LEFT, right);
  return {
    width,
    right,
    bottom,
    ticks: chart.x.tickvals ?? listRoundValues(isLog ? chart.x.range.map(at => 10 ** at) : chart.x.range, TICKS.x),
    x: value => {
      const at = along(isLog ? Math.log10(value) : value);
      return Math.min(Math.max(at, LEFT), right); // levels come from beyond the borders
    },
    y: makeScale(chart.y.range, bottom, TOP),
  };
}

function drawAxes(chart, { x, y, ticks, right, bottom }) {
  const words = chart.x.ticktext ?? ticks.map(String);
  const every = Math.ceil(ticks.length / Math.max(2, Math.floor((right - LEFT) / 34)));
  return [
    ...listRoundValues(chart.y.range, TICKS.y).map(value => [
      buildSvg("line", { class: "accuracy-rule", x1: LEFT, x2: right, y1: y(value), y2: y(value) }),
      buildSvg("text", { x: LEFT - 6, y: y(value) + 4, "text-anchor": "end" }, `${value} %`),
    ]),
    buildSvg("line", { class: "accuracy-axis", x1: LEFT, x2: right, y1: bottom, y2: bottom }),
    ...ticks.map((value, i) => [
      buildSvg("line", { class: "accuracy-axis", x1: x(value), x2: x(value), y1: bottom, y2: bottom + 4 }),
      i % every ? null : buildSvg("text", { x: x(value), y: bottom + 18, "text-anchor": "middle" }, words[i]),
    ]),
    buildSvg("text", { x: (LEFT + right) / 2, y: bottom + 40, "text-anchor": "middle" }, chart.x.title),
    buildSvg("text", { class: "accuracy-measure", x: 6, y: 16 }, chart.y.title),
  ].flat();
}

function drawMarker({ outline, filled, color, size }, x, y) {
  const scale = size < 8 ? 0.75 : 1.05;
  return buildSvg("path", {
    d: outline,
    transform: `translate(${x} ${y}) scale(${scale})`,
    fill: filled ? color : "none",
    stroke: filled ? null : color,
    "stroke-width": filled ? null : 1.7,
  });
}

function drawCurve(curve, scale) {
  const { style, bar } = curve;
  const at = curve.x.map((x, i) => [scale.x(x), scale.y(curve.y[i])]);
  const marked = curve.marked ? (curve.level ? at.slice(-1) : at) : [];
  const stroke = { stroke: style.color, fill: "none" };
  const ends = bar && [scale.y(curve.y[0] - bar[0]), scale.y(curve.y[0] + bar[1])];
  return buildSvg(
    "g",
    { "data-curve": curve.id },
    curve.joined && drawLine(at, { ...stroke, "stroke-width": style.width, "stroke-dasharray": style.dashes || null }),
    ends && buildSvg("path", { ...stroke, d: `M${at[0][0]} ${ends[0]}V${ends[1]}`, "stroke-width": 1.4 }),
    marked.map(place => drawMarker(style, ...place)),
  );
}

const drawInterval = ({ band }, scale) =>
  band &&
  drawArea(
    band.x.map((x, i) => [scale.x(x), scale.y(band.y[i])]),
    { fill: band.fill },
  );

// Without the legend's headings, a name says whose numbers these are.
const nameOf = ({ kind, label }) => (kind === "published" ? `${label} (paper)` : label);

// A name in lines of at most so many letters; null where a word, or the whole, is longer than there is room for.
function wrapName(name, most) {
  const lines = [];
  for (const word of name.split(" ")) {
    const joined = lines.length ? `${lines.at(-1)} ${word}` : word;
    if (lines.length && joined.length <= most) lines[lines.length - 1] = joined;
    else lines.push(word);
  }
  return lines.length > NAMES.lines || lines.some(line => line.length > most) ? null : lines;
}

// The names of all curves in lines, and the width they take; null where they would be cut: the legend has them then.
function fitNames(chart, width) {
  const gutter = Math.min(NAMES.most, NAMES.share * width);
  const most = Math.floor((gutter - BESIDE) / LETTER);
  const names = chart.curves.map(curve => wrapName(nameOf(curve), most));
  const heights = names.map(lines => lines && LINE + (lines.length - 1) * WRAPPED);
  const room = chart.height - BOTTOM - TOP;
  if (names.includes(null) || heights.reduce((sum, height) => sum + height, 0) > room) return null;
  return { names, heights, gutter };
}

function drawNames(curves, scale, { names, heights }) {
  const ends = curves.map(({ x, y }) => {
    const last = x.indexOf(Math.max(...x));
    return [scale.x(x[last]), scale.y(y[last])];
  });
  const places = spreadNames(
    ends.map(([, y]) => y),
    TOP,
    scale.bottom,
    heights,
  );
  return curves.map(({ id, style }, i) => {
    const [x, y] = ends[i];
    const left = scale.right + 14;
    const first = places[i] + 4 - ((names[i].length - 1) * WRAPPED) / 2;
    const lines = names[i].map((line, at) => buildSvg("tspan", { x: left + 15, y: first + at * WRAPPED }, `${line} `));
    return buildSvg(
      "g",
      { "data-name": id },
      buildSvg("path", {
        class: "accuracy-leader",
        d: `M${x + 7} ${y}L${left - 4} ${places[i]}`,
        stroke: style.color,
        "stroke-dasharray": left - x > FAR ? "1 4" : null,
      }),
      style.outline
        ? drawMarker({ ...style, size: 7 }, left + 5, places[i])
        : buildSvg("path", {
            d: `M${left} ${places[i]}h11`,
            stroke: style.color,
            "stroke-width": 2,
            "stroke-dasharray": style.dashes || null,
          }),
      buildSvg("text", { x: left + 15, y: first }, lines),
    );
  });
}

// The slider's line, its number, and a ring where every curve has that number of looks.
export function placeRings({ slider, scale }, chart) {
  const [xs, ys] = chart.rings[String(chart.looks)] ?? [[], []];
  const rings = xs.map((x, i) => buildSvg("circle", { cx: scale.x(x), cy: scale.y(ys[i]), r: 8.5 }));
  const x = chart.slides && chart.curves.length ? scale.x(chart.looks) : null;
  slider.replaceChildren(
    ...(x === null
      ? []
      : [
          buildSvg("line", { x1: x, x2: x, y1: TOP, y2: scale.bottom }),
          buildSvg("text", { x, y: TOP - 8, "text-anchor": "middle" }, formatCount(chart.looks, "look", "looks")),
        ]),
    ...rings,
  );
}

export function drawChart(chart, width) {
  const { curves, empty } = chart;
  const fitted = fitNames(chart, width);
  const scale = openScale(chart, width, fitted?.gutter ?? BARE);
  const slider = buildSvg("g", { class: "accuracy-rings" });
  const names = curves.map(nameOf).join(", ");
  const label = curves.length
    ? `${chart.y.title} over ${chart.x.title}: ${names}. The table has the numbers.`
    : empty.join(" ");
  const { height } = chart;
  const frame = { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": label };
  const middle = { x: width / 2, "text-anchor": "middle" };
  const svg = buildSvg(
    "svg",
    frame,
    curves.length
      ? [
          drawAxes(chart, scale),
          curves.map(curve => drawInterval(curve, scale)),
          slider,
          curves.map(curve => drawCurve(curve, scale)),
          fitted && drawNames(curves, scale, fitted),
        ].flat(2)
      : empty.map((sentence, i) => buildSvg("text", { ...middle, y: height / 2 + 20 * i }, sentence)),
  );
  const drawn = { svg, slider, scale, curves, isNamed: fitted !== null };
  placeRings(drawn, chart);
  return drawn;
}

// What is known of the marker nearest to a place on the chart.
export function findNearest({ curves, scale }, x, y) {
  let found = null;
  let nearest = REACH;
  for (const curve of curves)
    for (const [i, across] of curve.x.entries()) {
      const at = [scale.x(across), scale.y(curve.y[i])];
      const distance = Math.hypot(at[0] - x, at[1] - y);
      if (distance >= nearest) continue;
      nearest = distance;
      found = { x: at[0], y: at[1], lines: curve.known[curve.level ? 0 : i] };
    }
  return found;
}
