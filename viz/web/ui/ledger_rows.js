// Rows and bars that tabs share: the classes of a decision, and the ledger, one row per look with bars to both sides of
// zero.

import { formatCount, percent, short } from "../core/text.js";
import { build } from "./dom.js";

// `value` as a bar that reaches to the edge where it is as large as `reach`.
export function drawBalance(value, reach) {
  const width = `width:${((50 * Math.abs(value)) / reach).toFixed(3)}%`;
  return build("td", {}, build("div", { class: "tn-balance" }, build("div", { class: sideOf(value), style: width })));
}

// What is written as 0 speaks for neither side.
export const sideOf = value => (short(value) === "0" ? "tn-neither" : value > 0 ? "tn-for" : "tn-against");

// The largest of the values by size: bars are drawn in proportion to it.
export const reachOf = values => Math.max(1e-6, ...values.map(Math.abs));

// One row: its name, attributes of the row, and the cells after the name.
export function drawRow(name, attributes, cells) {
  return build("tr", attributes, build("th", { scope: "row" }, name), cells);
}

export const drawCell = (text, attributes = {}) => build("td", attributes, text);

export function fillLedger(table, rows, sums) {
  table.querySelector("tbody").replaceChildren(...rows);
  table.querySelector("tfoot").replaceChildren(...sums);
}

// A class with its probability as a bar; `change` is what the newest look gained it, in points.
export function drawClass(scene, cls, { share, logits, order }, change = null) {
  const label = cls === scene.label ? build("em", {}, "true label") : null;
  return build(
    "li",
    { "data-class": cls, class: cls === order[0] ? "tn-first" : "", title: `logit ${logits[cls].toFixed(5)}` },
    build("span", {}, scene.classes[cls], label),
    build("b", {}, percent(share[cls])),
    change,
    build("div", { class: "tn-bar" }, build("div", { style: `width:${(100 * share[cls]).toFixed(3)}%` })),
  );
}

// The most probable classes, and the one that the picture is known to show.
export function listClasses({ scene, order }) {
  return scene.label === null || order.includes(scene.label) ? order : [...order.slice(0, 4), scene.label];
}

export function describeOrigin(looks) {
  return looks.length
    ? `From the thumbnail and ${formatCount(looks.length, "look", "looks")}`
    : "From the thumbnail alone";
}
