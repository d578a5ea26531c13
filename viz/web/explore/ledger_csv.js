// The ledger as a table for other programs.

import { calledRow, leaveOneOut, rowsOf, standingOf } from "../core/scene.js";

// A spreadsheet must not take a name for a formula.
const harmless = text => (/^[=+\-@\t\r]/.test(text) ? `'${text}` : text);
const quoteCell = text => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csvCell = value =>
  value === null || value === undefined ? "" : typeof value === "number" ? String(value) : quoteCell(harmless(value));

const LEDGER = (
  "row level cell inside x0 y0 x1 y1 rank lift " +
  "weight class projection against projection_against contribution sampling " +
  "probability probability_without logit_without"
).split(" ");

// Every digit of the ledger as it is shown: the thumbnail, the looks in their order, the bias and what they add up to;
// the class's probability (or lead) with everything in the last row, and without each row, in that row.
export function ledgerCsv(view) {
  const { scene, looks, weights, shares, cls, versus } = view;
  const count = scene.bias.length;
  const names = {
    class: scene.classes[cls],
    against: versus === null ? null : scene.classes[versus],
    sampling: scene.sampling,
  };
  const projected = row => ({
    projection: scene.projections[row * count + cls],
    projection_against: versus === null ? null : scene.projections[row * count + versus],
  });
  const without = leaveOneOut(scene, looks, cls, versus);
  const lines = rowsOf(looks).map((row, i) => {
    const look = row ? scene.looks[row - 1] : null;
    const [x0, y0, x1, y1] = look?.box ?? [0, 0, 1, 1];
    const above = look === null || look.parent === null ? null : calledRow(scene, look.parent + 1);
    return {
      row: calledRow(scene, row),
      level: look?.level ?? 1,
      cell: look?.index,
      inside: above,
      x0,
      y0,
      x1,
      y1,
      rank: look?.rank,
      lift: look?.lift,
      weight: weights[i],
      ...names,
      ...projected(row),
      contribution: shares.values[i],
      probability_without: without[i]?.probability,
      logit_without: without[i]?.logit,
    };
  });
  const bias = {
    row: "bias",
    ...names,
    projection: scene.bias[cls],
    projection_against: versus === null ? null : scene.bias[versus],
    contribution: shares.bias,
  };
  const { probability } = standingOf(view.logits, view.share, cls, versus);
  const total = { row: "total", ...names, contribution: shares.total, probability };
  return [LEDGER, ...[...lines, bias, total].map(line => LEDGER.map(name => line[name]))]
    .map(line => line.map(csvCell).join(",") + "\n")
    .join("");
}
