// How alike the looks of both sides are: numbers at the looks that count, and agreement over k.

const shown = share => share === null ? "no looks to compare" : percent(share);

function drawAlike(root, view) {
  const { pair, budget } = view, panel = root.querySelector(".compare-alike"), says = pair.sentences;
  const rows = [];
  pair.overlaps[budget.join(",")].forEach(([cells, area], i) => {
    const level = pair.most.length > 1 ? `, level ${i + 2}` : "";
    const none = pair.matched ? shown(cells) : "n/a";
    rows.push([`Shared cells${level}`, `<b data-cells="${cells}">${none}</b>`], [`Shared area${level}`, `<b data-area="${area}">${shown(area)}</b>`]);
  });
  const both = (name, found) => found
    ? `<span>Spearman <b data-${name}-spearman="${found.spearman}">${short(found.spearman)}</b></span> <span>Kendall <b data-${name}-kendall="${found.kendall}">${short(found.kendall)}</b></span>`
    : "<b>n/a</b>";
  rows.push(["Rank correlation, order", `${both("order", pair.order)} <small>${escaped(says.order)}</small>`]);
  rows.push(["Rank correlation, scores", says.kept ? `<small>${escaped(says.scores)}</small>` : `${both("scores", pair.scores)} <small>${escaped(says.scores)}</small>`]);
  if (says.first) rows.push(["First look", `<span class="compare-first">${escaped(says.first)}</span>`]);
  panel.querySelector("dl").innerHTML = rows.map(([name, value]) => `<dt>${name}</dt><dd>${value}</dd>`).join("");
  panel.querySelector(".tn-head p").textContent = says.cells;
  const plot = panel.querySelector(".tn-plot"), chart = pair.agreement.length > 0;
  panel.querySelector("h3").hidden = plot.hidden = !chart;
  const caption = panel.querySelector(".tn-caption");
  if (!chart) { caption.textContent = pair.matched ? "One side takes no look: there is no order to compare." : ""; return; }
  const last = pair.most[0], at = budget[0];
  const chance = Array.from({ length: last }, (_, i) => (i + 1) / pair.cells);
  plot.innerHTML = shareChart([
    { name: "chance", values: chance, from: 1, kind: "compare-chance" },
    { name: "agreement", values: pair.agreement, from: 1, kind: "tn-lead" },
  ], last, at, view.state.wide, "Share of the first k looks that both sides have") +
    `<ul class="tn-key"><li>${swatch("tn-lead")}in both</li><li>${swatch("compare-chance")}by chance</li></ul>`;
  const here = at ? pair.agreement[Math.min(at, pair.agreement.length) - 1] : null;
  const until = last > pair.agreement.length ? ` Compared as long as both have looks (k = ${pair.agreement.length}).` : "";
  caption.textContent = `${here === null ? "No look counts yet." : `Of the first ${Math.min(at, pair.agreement.length)} looks at the picture both have ${percent(here)}, in whatever order.`}${until}`;
}
