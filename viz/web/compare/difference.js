// The ledger of differences: the share of every look in A, in B, and how that moves the logit.

import { formatFixed, formatSigned } from "../core/text.js";
import { build, buildGroup, buildOption } from "../ui/dom.js";
import { drawBalance, drawCell, drawRow, fillLedger, reachOf, sideOf } from "../ui/ledger_rows.js";
import { SIDES, ledgerOf } from "./view.js";

export const buildFirstClasses = () => [
  buildOption("a", "the class A predicts"),
  buildOption("b", "the class B predicts"),
];

export function fillClasses(select, view) {
  const { pair } = view;
  const kept = select.value;
  const order = [...pair.common.keys()];
  const name = at => pair.a.classes[pair.common[at][0]];
  const list = chosen => chosen.map(at => buildOption(at, name(at)));
  const isTop = ([a, b]) => view.a.order.includes(a) || view.b.order.includes(b);
  const top = order.filter(at => isTop(pair.common[at]));
  const sorted = order.toSorted((x, y) => name(x).localeCompare(name(y)));
  select.replaceChildren(
    ...buildFirstClasses(),
    buildGroup("most probable", list(top)),
    buildGroup("all classes in common", list(sorted)),
  );
  select.value = kept;
}

export function drawDifference(root, view) {
  const panel = root.querySelector(".compare-difference");
  const says = view.pair.sentences;
  const none = panel.querySelector(".compare-none");
  none.hidden = view.comparable;
  none.textContent = says.classes;
  panel.querySelector(".compare-table").hidden = !view.comparable;
  if (!view.comparable) return;
  const { rows, bias, logits } = ledgerOf(view);
  const reach = reachOf(rows.map(row => row.difference));
  const sums = [drawSum("bias", bias, "data-bias"), drawSum("= logit", logits, "data-total")];
  fillLedger(
    panel,
    rows.map(row => drawDifferenceRow(view, row, reach)),
    sums,
  );
  panel.querySelector(".tn-caption").textContent = `${view.a.scene.classes[view.cls.a]}: ${says.ledger}`;
}

function drawDifferenceRow(view, row, reach) {
  const found = SIDES.filter(side => row.key !== null && row[side]);
  const names = found.map(side => `${side.toUpperCase()} ${view[side].scene.looks[row[side].look].name}`);
  const pointers = found.map(side => [`data-look-${side}`, row[side].look]);
  const written = formatSigned(row.difference);
  const attributes = {
    tabindex: row.key === null ? null : 0,
    ...Object.fromEntries(pointers),
    title: `difference ${row.difference.toFixed(5)}`,
  };
  return drawRow(row.key === null ? "context" : names.join(", "), attributes, [
    ...SIDES.map(side => drawShare(side, row[side])),
    drawBalance(row.difference, reach),
    drawCell(written, { class: written === "0" ? "" : sideOf(row.difference), "data-difference": row.difference }),
  ]);
}

function drawShare(side, entry) {
  return entry ? drawCell(formatSigned(entry.value), { [`data-${side}`]: entry.value }) : drawCell("–");
}

function drawSum(name, [left, right], mark) {
  const difference = right - left;
  const text = `${difference > 0.005 ? "+" : ""}${formatFixed(difference)}`;
  const last = drawCell(build("b", {}, text), { [mark]: difference });
  return drawRow(name, {}, [drawCell(formatFixed(left)), drawCell(formatFixed(right)), drawCell(""), last]);
}

// Hover or focus on a row or a box marks the looks it means on both sides.
export function markLooks(root, target) {
  for (const element of root.querySelectorAll(".tn-focus")) element.classList.remove("tn-focus");
  const row = target?.closest?.(".compare-difference tbody tr");
  if (!row) return;
  row.classList.add("tn-focus");
  for (const side of SIDES) {
    const look = row.getAttribute(`data-look-${side}`);
    if (look !== null)
      root
        .querySelector(`.compare-column[data-side="${side}"] .tn-box[data-look="${look}"]`)
        ?.classList.add("tn-focus");
  }
}
