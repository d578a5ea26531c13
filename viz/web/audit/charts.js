// Graphics of Audit's cards: curves with their names at the ends, a scatter of classes, dots with intervals.

import { MINUS, formatSigned, percent, short } from "../core/text.js";
import { addTitle, drawBand, drawLine, listRoundValues, makeScale, spreadNames } from "../ui/chart.js";
import { buildSvg } from "../ui/dom.js";

const HEIGHT = 196;
const STRIP = 50; // of the difference below the curves, which are lower then
const ROOM = { left: 44, right: 112, top: 10, bottom: 34 };
const LINE_HEIGHT = 13; // pixels between names at the ends
const CHARACTER = 6.4; // pixels of a letter in a name, on average

const text = (x, y, words, more = {}) => buildSvg("text", { x, y, ...more }, words);
const percentTick = share => `${String(Math.round(100 * share)).replace("-", MINUS)} %`;
const rule = (x1, y1, x2, y2, kind = "tn-rule") => buildSvg("line", { class: kind, x1, y1, x2, y2 });
const textWidth = words => Math.ceil(words.length * CHARACTER);

function open(width, height, label) {
  return buildSvg("svg", {
    class: "audit-chart",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": label,
  });
}

const ROUND = 4; // values on an axis, about

function span(values, room = 0.06) {
  const low = Math.min(...values);
  const high = Math.max(...values);
  const more = (high - low || 0.1) * room;
  return [low - more, high + more];
}

// `lines`: [{ name, label, points: [[x, share]], band, looks }], `gains`: [{ x, value, interval }] of the learned line.
export function drawCurves(width, { lines, gains, below, at = null, rule: marked = null, label }) {
  const hasStrip = gains.length > 0;
  const height = HEIGHT + (hasStrip ? STRIP / 2 : 0);
  const svg = open(width, height, label);
  if (!lines.length) return svg;
  const { left, top, bottom } = ROOM;
  const right = width - ROOM.right;
  const floor = height - bottom - (hasStrip ? STRIP : 0);
  const xs = lines.flatMap(line => line.points.map(point => point[0]));
  const [firstX, lastX] = [Math.min(...xs), Math.max(...xs)];
  const shares = lines.flatMap(line => [...line.points.map(point => point[1]), ...(line.band ?? []).flat()]);
  const ends = span(shares);
  const x = makeScale([firstX, lastX], left, right);
  const y = makeScale(ends, floor, top);
  for (const share of listRoundValues(ends, ROUND)) {
    svg.append(rule(left, y(share), right, y(share)));
    svg.append(text(left - 6, y(share) + 4, percentTick(share), { "text-anchor": "end" }));
  }
  const wholes = below === "looks";
  const ticks = listRoundValues([firstX, lastX], Math.max(2, Math.floor((right - left) / 60)));
  for (const value of wholes ? ticks.filter(Number.isInteger) : ticks) {
    svg.append(text(x(value), floor + 16, wholes ? String(value) : short(value), { "text-anchor": "middle" }));
  }
  if (at !== null) svg.append(rule(x(at), top, x(at), hasStrip ? height - 6 : floor, "audit-at"));
  for (const line of lines) {
    if (!line.band) continue;
    const along = end => line.points.map((point, i) => [x(point[0]), y(line.band[i][end])]);
    svg.append(drawBand(along(0), along(1), { class: "audit-band" }));
  }
  for (const line of lines) {
    const points = line.points.map(([value, share]) => [x(value), y(share)]);
    svg.append(drawLine(points, { class: `audit-line audit-${line.name}`, "data-line": line.name }));
    if (line.name === "learned") {
      line.points.forEach(([value, share], i) => {
        const dot = buildSvg("circle", { class: "audit-dot", cx: x(value), cy: y(share), r: 3 });
        const where = line.looks ? `${line.looks[i]} looks, ${short(value)} GFLOPs` : `${value} looks`;
        svg.append(addTitle(dot, `${where}: ${percent(share)}`));
      });
    }
  }
  if (marked) {
    const mark = buildSvg("circle", { class: "audit-rule", cx: x(marked.x), cy: y(marked.y), r: 7 });
    svg.append(addTitle(mark, `${marked.label}: ${short(marked.x)} GFLOPs, ${percent(marked.y)}`));
    svg.append(text(x(marked.x) + 11, y(marked.y) + 20, marked.label, { class: "audit-strong" }));
  }
  const heights = lines.map(line => y(line.points.at(-1)[1]) + 4);
  const names = spreadNames(heights, top + 8, floor, LINE_HEIGHT) ?? heights;
  lines.forEach((line, i) => {
    const end = x(line.points.at(-1)[0]);
    svg.append(text(Math.max(end, right) + 7, names[i], line.label, { class: `audit-name audit-${line.name}` }));
  });
  svg.append(text((left + right) / 2, floor + 31, below, { "text-anchor": "middle" }));
  if (hasStrip) drawGains(svg, gains, { x, left, right, from: height - STRIP + 2, to: height - 4 });
  return svg;
}

function drawGains(svg, gains, { x, left, right, from, to }) {
  const [low, high] = span([0, ...gains.flatMap(gain => [gain.value, ...(gain.interval ?? [])])]);
  const y = makeScale([low, high], to, from);
  const known = gains.filter(gain => gain.interval);
  const along = end => known.map(gain => [x(gain.x), y(gain.interval[end])]);
  svg.append(drawBand(along(0), along(1), { class: "audit-band" }));
  svg.append(rule(left, y(0), right, y(0), "audit-zero"));
  const points = gains.map(gain => [x(gain.x), y(gain.value)]);
  svg.append(drawLine(points, { class: "audit-line audit-learned", "data-line": "gain" }));
  for (const gain of gains) {
    const dot = buildSvg("circle", { class: "audit-dot", cx: x(gain.x), cy: y(gain.value), r: 2.5 });
    const ends = gain.interval ? ` (${gain.interval.map(end => formatSigned(100 * end)).join(" to ")})` : "";
    svg.append(addTitle(dot, `${gain.x} looks: ${formatSigned(100 * gain.value)} points${ends}`));
  }
  svg.append(text(left - 6, y(0) + 4, "0", { "text-anchor": "end" }));
  for (const end of [low, high]) {
    if (Math.abs(y(end) - y(0)) < LINE_HEIGHT) continue;
    svg.append(
      text(left - 6, y(end) + (end > 0 ? 8 : 0), formatSigned(Math.round(100 * end)), { "text-anchor": "end" }),
    );
  }
  svg.append(text(right + 7, (from + to) / 2 - 3, "learned minus"));
  svg.append(text(right + 7, (from + to) / 2 + 11, "same, points"));
}

export function drawScatter(width, { points, label }, chosen) {
  const { left, top, bottom } = ROOM;
  const right = width - 12;
  const axes = ["across: from the thumbnail", "up: with looks"];
  const titles = textWidth(axes.join("; ")) <= right - left ? [axes.join("; ")] : axes;
  const svg = open(width, HEIGHT + (titles.length - 1) * LINE_HEIGHT, label);
  const floor = HEIGHT - bottom;
  const [lowX] = span(points.map(point => point.x));
  const [lowY] = span(points.map(point => point.y));
  const low = Math.max(0, Math.min(lowX, lowY, 0.9));
  const x = makeScale([low, 1], left, right);
  const y = makeScale([low, 1], floor, top);
  for (const share of listRoundValues([low, 1], ROUND)) {
    svg.append(rule(left, y(share), right, y(share)));
    svg.append(text(left - 6, y(share) + 4, percentTick(share), { "text-anchor": "end" }));
    svg.append(text(x(share), floor + 16, `${Math.round(100 * share)}`, { "text-anchor": "middle" }));
  }
  svg.append(rule(x(low), y(low), x(1), y(1), "audit-zero"));
  const middle = titles.length > 1 ? width / 2 : (left + right) / 2;
  titles.forEach((words, i) => {
    svg.append(text(middle, floor + 31 + i * LINE_HEIGHT, words, { "text-anchor": "middle" }));
  });
  // What lies on one place is drawn side by side.
  const met = new Map();
  for (const point of points) {
    const place = `${point.x},${point.y}`;
    const before = met.get(place) ?? 0;
    met.set(place, before + 1);
    const angle = before * 2.4;
    const away = 4.5 * Math.sqrt(before);
    const dot = buildSvg("circle", {
      class: `audit-class${point.name === chosen ? " audit-chosen" : ""}`,
      cx: Math.min(right, Math.max(left, x(point.x) + away * Math.cos(angle))),
      cy: Math.min(floor, Math.max(top, y(point.y) + away * Math.sin(angle))),
      r: point.name === chosen ? 6 : 4,
    });
    dot.dataset.choose = point.name;
    const count = share => Math.round(share * point.images);
    svg.append(
      addTitle(dot, `${point.name}: ${count(point.y)} of ${point.images} right, ${count(point.x)} from the thumbnail`),
    );
  }
  return svg;
}

// Names stand beside their dots, or above them where they would take more than half of the width.
export function drawDots(width, { rows, label }) {
  const longest = Math.max(0, ...rows.map(row => textWidth(row.label)));
  const beside = longest <= width / 2;
  const step = beside ? 25 : 33;
  const floor = rows.length * step + 4;
  const svg = open(width, floor + 26, label);
  const left = beside ? longest + 14 : 6;
  const right = width - 14;
  const x = makeScale([-1, 1], left, right);
  for (const value of [-1, 0, 1]) {
    svg.append(rule(x(value), 2, x(value), floor, value ? "tn-rule" : "audit-zero"));
    const words = value < 0 ? `position ${MINUS}1` : value ? "1 content" : "0";
    const anchor = value < 0 ? "start" : value ? "end" : "middle";
    svg.append(text(x(value), floor + 16, words, { "text-anchor": anchor }));
  }
  rows.forEach((row, at) => {
    const y = at * step + (beside ? 14 : 26);
    const [low, high] = row.interval ?? [row.value, row.value];
    const side = low > 0 ? "audit-for" : high < 0 ? "audit-against" : "";
    const room = Math.floor((beside ? longest : right) / CHARACTER);
    const name = row.label.length > room ? `${row.label.slice(0, room - 1)}…` : row.label;
    const named = beside
      ? text(longest, y + 4, name, { "text-anchor": "end" })
      : text(0, y - 12, name, { class: "audit-over" });
    svg.append(addTitle(named, row.about));
    svg.append(buildSvg("line", { class: `audit-ends ${side}`, x1: x(low), x2: x(high), y1: y, y2: y }));
    const dot = buildSvg("circle", { class: `audit-value ${side}`, cx: x(row.value), cy: y, r: at ? 4 : 6 });
    dot.dataset.score = row.value;
    svg.append(
      addTitle(dot, `${row.about}: ${formatSigned(row.value)} (${formatSigned(low)} to ${formatSigned(high)})`),
    );
  });
  return svg;
}
