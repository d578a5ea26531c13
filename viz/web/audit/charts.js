// Graphics of Audit's cards: curves with their names at the ends, a scatter of classes, dots with intervals.

import { MINUS, formatSigned, percent, short } from "../core/text.js";
import { addTitle, drawBand, drawLine, listRoundValues, makeScale, placeWords, spreadNames } from "../ui/chart.js";
import { buildSvg } from "../ui/dom.js";

const HEIGHT = 182;
const STRIP = 50; // of the difference below the curves, which are lower then
const ROOM = { left: 44, right: 124, top: 10, bottom: 34 };
const LINE_HEIGHT = 13; // pixels between names at the ends
const LEADER = { from: 4, to: 17, gap: 20 }; // pixels from a line's end to its name
const NEAR = 40; // pixels: a line that ends farther from the right border is named where it ends
const CHARACTER = 6.4; // pixels of a letter in a name, on average
const BOLD = 1.25; // of its width in bold

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
  }
  svg.append(...drawNames(lines, marked, { x, y, right, top, floor }));
  svg.append(text((left + right) / 2, floor + 31, below, { "text-anchor": "middle" }));
  if (hasStrip) drawGains(svg, gains, { x, left, right, from: height - STRIP + 2, to: height - 4 });
  return svg;
}

// Names stand beside the ends of their lines, with a leader where others push them away; the name of a line that ends
// early, and that of the rule, stand where nothing runs through them.
function drawNames(lines, marked, { x, y, right, top, floor }) {
  const drawn = lines.map(line => line.points.map(([value, share]) => [x(value), y(share)]));
  const taken = [];
  const drawInside = (words, at, kind) => {
    const size = { width: BOLD * textWidth(words), height: LINE_HEIGHT };
    const [left, base] = placeWords(at, size, drawn, { top: 0, bottom: floor }, taken);
    return text(left, base, words, { class: `${kind} audit-over` });
  };
  const found = [];
  if (marked) found.push(drawInside(marked.label, [x(marked.x), y(marked.y)], "audit-strong"));
  const isLast = lines.map((_, i) => right - drawn[i].at(-1)[0] < NEAR);
  lines.forEach((line, i) => {
    if (!isLast[i]) found.push(drawInside(line.label, drawn[i].at(-1), `audit-name audit-${line.name}`));
  });
  const outside = lines.filter((_, i) => isLast[i]);
  const ends = drawn.filter((_, i) => isLast[i]).map(points => points.at(-1));
  const heights = ends.map(end => end[1]);
  const places = spreadNames(heights, top + 4, floor - 4, LINE_HEIGHT) ?? heights;
  outside.forEach((line, i) => {
    const [end, height] = ends[i];
    found.push(rule(end + LEADER.from, height, right + LEADER.to, places[i], `audit-leader audit-${line.name}`));
    const kind = `audit-name audit-${line.name}`;
    found.push(text(right + LEADER.gap, places[i] + 4, line.label, { class: kind }));
  });
  return found;
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
  const step = beside ? 23 : 33;
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
