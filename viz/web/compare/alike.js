// How alike the looks of both sides are: numbers at the looks that count, and agreement over k.

import { percent, short } from "../core/text.js";
import { build } from "../ui/dom.js";
import { SMALL, drawKey, drawLineChart } from "../ui/line_chart.js";

const formatShare = share => (share === null ? "no looks to compare" : percent(share));

export function drawAlike(root, view) {
  const { pair, budget } = view;
  const panel = root.querySelector(".compare-alike");
  panel.querySelector("dl").replaceChildren(
    ...drawNumbers(pair, budget)
      .map(([name, ...values]) => [build("dt", {}, name), build("dd", {}, values)])
      .flat(),
  );
  panel.querySelector(".tn-head p").textContent = pair.sentences.cells;
  const plot = panel.querySelector(".tn-plot");
  const hasChart = pair.agreement.length > 0;
  panel.querySelector("h3").hidden = plot.hidden = !hasChart;
  const none = pair.matched ? "One side takes no look: there is no order to compare." : "";
  panel.querySelector(".tn-caption").textContent = hasChart ? describeAgreement(pair, budget[0]) : none;
  if (hasChart) plot.replaceChildren(...drawAgreement(pair, budget[0], view.state.wide));
}

// Rows of the list: a name, and what stands beside it.
function drawNumbers(pair, budget) {
  const says = pair.sentences;
  const note = text => build("small", {}, text);
  const rows = pair.overlaps[budget.join(",")].flatMap(([cells, area], i) => {
    const level = pair.most.length > 1 ? `, level ${i + 2}` : "";
    return [
      [`Shared cells${level}`, build("b", { "data-cells": String(cells) }, pair.matched ? formatShare(cells) : "n/a")],
      [`Shared area${level}`, build("b", { "data-area": String(area) }, formatShare(area))],
    ];
  });
  rows.push(["Rank correlation, order", ...drawCorrelations("order", pair.order), " ", note(says.order)]);
  const scores = says.kept ? [] : [...drawCorrelations("scores", pair.scores), " "];
  rows.push(["Rank correlation, scores", ...scores, note(says.scores)]);
  if (says.first) rows.push(["First look", build("span", { class: "compare-first" }, says.first)]);
  return rows;
}

function drawCorrelations(name, found) {
  if (!found) return [build("b", {}, "n/a")];
  const one = (title, kind) =>
    build("span", {}, `${title} `, build("b", { [`data-${name}-${kind}`]: found[kind] }, short(found[kind])));
  return [one("Spearman", "spearman"), " ", one("Kendall", "kendall")];
}

function drawAgreement(pair, at, width) {
  const last = pair.most[0];
  const chance = Array.from({ length: last }, (_, i) => (i + 1) / pair.cells);
  const line = (name, values, kind, dots) => ({
    values,
    kind,
    from: 1,
    dots,
    data: { "data-line": name, "data-values": values.join(" ") },
  });
  const lines = [
    line("chance", chance, "compare-chance", "none"),
    line("agreement", pair.agreement, "tn-lead", "here"),
  ];
  const label = "Share of the first k looks that both sides have";
  const key = [
    { kind: "tn-lead", text: "in both" },
    { kind: "compare-chance", text: "by chance" },
  ];
  return [drawLineChart(SMALL, { width, last, at, lines, label }), drawKey(key)];
}

function describeAgreement(pair, at) {
  const compared = pair.agreement.length;
  const until = pair.most[0] > compared ? ` Compared as long as both have looks (k = ${compared}).` : "";
  if (!at) return `No look counts yet.${until}`;
  const looks = Math.min(at, compared);
  const both = percent(pair.agreement[looks - 1]);
  return `Of the first ${looks} looks at the picture both have ${both}, in whatever order.${until}`;
}
