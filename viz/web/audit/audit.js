// The audit of a checkpoint: the graphics of its cards, heat maps under a slider and a choice of class, and a table of
// classes to sort and search.

import { noteSettings, takeLinked } from "../ui/address.js";
import { formatCount, short, times } from "../core/text.js";
import { drawCurves, drawDots, drawScatter } from "./charts.js";

// A map is compared at a glance, and its cells are small; what is rare is not nothing.
function wholePercent(share) {
  return share > 0 && share < 0.005 ? "<1\u00a0%" : `${Math.round(100 * share)}\u00a0%`;
}

export function mountAudit(element, host) {
  const find = selector => element.querySelector(selector);
  let sent = null;
  let looks = 1;
  let chosen = null;
  let sorted = { key: null, down: false };

  // Of single classes only some numbers of looks were counted: the nearest, the smaller of two.
  function findNearestCount(taken, target) {
    const known = Object.keys(taken)
      .map(Number)
      .sort((a, b) => a - b);
    return known.length ? known.reduce((best, k) => (Math.abs(k - target) < Math.abs(best - target) ? k : best)) : null;
  }

  function drawMap(name, values, write, opacity, sentence) {
    const figure = find(`[data-shows=${name}]`);
    if (!figure) return;
    const cells = figure.querySelector(".audit-cells");
    const none = figure.querySelector(".audit-missing");
    cells.hidden = values === null;
    none.hidden = values !== null;
    none.textContent = sentence;
    if (values === null) return;
    [...cells.children].forEach((cell, i) => {
      cell.firstChild.textContent = write(values[i]);
      cell.dataset.value = values[i];
      cell.style.setProperty("--a", opacity(values[i]).toFixed(3));
    });
  }

  function draw() {
    const where = chosen === null ? sent.all : sent.classes[chosen];
    const k = findNearestCount(where.taken, looks);
    const shares = k === null ? null : where.taken[k].map(count => count / where.images);
    const most = shares ? Math.max(...shares, 1e-9) : 1;
    const [low, high] = sent.bounds;
    drawMap("taken", shares, wholePercent, share => share / most, "Looks were not counted here.");
    drawMap(
      "lift",
      where.lift,
      times,
      lift => Math.min(1, Math.max(0, (lift - low) / (high - low))),
      "There are no location probabilities here.",
    );
    const whom = chosen === null ? "All classes" : chosen;
    const images = where.images === 1 ? "1 image" : `${where.images} images`;
    const first = k === 1 ? "the first look" : `the first ${k} looks`;
    const chance = k === null ? "" : `chance ${wholePercent(k / shares.length)}`;
    const detail = k === null ? "" : `, ${first}; ${chance}`;
    const other =
      k === null || k === looks
        ? ""
        : ` Of single classes, ${looks} looks were not counted; shown is the nearest number.`;
    find("[data-shows=taken] .audit-said").textContent = `${whom}, ${images}${detail}.${other}`;
    const slider = find("[data-map-looks]");
    const bias = find("[data-map-bias]");
    if (slider) {
      slider.value = looks;
      slider.style.setProperty("--at", `${slider.max > 1 ? (100 * (looks - 1)) / (slider.max - 1) : 100}%`);
      slider.nextElementSibling.textContent = looks;
      slider.setAttribute("aria-valuetext", `${looks} of ${formatCount(Number(slider.max), "look", "looks")}`);
    }
    if (bias) bias.textContent = looks in sent.bias ? short(sent.bias[looks]) : "not stated";
    note();
  }

  // A folder of this machine has no name that a link could carry.
  function note() {
    const name = find("[data-audit]")?.dataset.audit ?? "";
    const pairs = /^[A-Za-z0-9][\w.-]*$/.test(name) ? [["audit", name]] : [];
    if (sent && chosen !== null) pairs.push(["audit-class", chosen]);
    if (sent && looks !== sent.start) pairs.push(["audit-looks", looks]);
    noteSettings("audit", pairs);
  }

  // Graphics are as wide as their place; a tab that is not seen has none.
  function drawPlot(plot) {
    const width = Math.floor(plot.clientWidth);
    if (!width) return;
    const { dots, curves, scatter } = plot.dataset;
    if (dots) plot.replaceChildren(drawDots(width, JSON.parse(dots)));
    if (curves) plot.replaceChildren(drawCurves(width, JSON.parse(curves)));
    if (scatter) plot.replaceChildren(drawScatter(width, JSON.parse(scatter), chosen));
  }
  const sizes = new ResizeObserver(entries => entries.forEach(entry => drawPlot(entry.target)));

  function show() {
    sizes.disconnect();
    for (const plot of element.querySelectorAll(".audit-plot")) {
      drawPlot(plot);
      sizes.observe(plot);
    }
    const board = find("[data-map]");
    sent = board ? JSON.parse(board.dataset.map) : null;
    chosen = null;
    sorted = { key: null, down: false };
    if (sent) {
      looks = sent.start;
      draw();
    } else note();
    if (find("[data-audit]")) restore(takeLinked("audit"));
  }

  // The class and the number of looks of a link, as far as this checkpoint has them.
  function restore(linked) {
    if (!linked || !sent) return;
    const most = Number(find("[data-map-looks]")?.max);
    const linkedLooks = Number(linked["audit-looks"]);
    if (Number.isInteger(linkedLooks) && linkedLooks >= 1 && linkedLooks <= most) looks = linkedLooks;
    const field = find("[data-map-class]");
    if (field && Object.hasOwn(sent.classes, linked["audit-class"] ?? "")) field.value = linked["audit-class"];
    choose(field?.value ?? "");
  }

  function choose(name) {
    chosen = sent && Object.hasOwn(sent.classes, name) ? name : null;
    if (!sent) return;
    draw();
    const plot = find("[data-scatter]");
    if (plot) drawPlot(plot);
    const picked = find(".audit-picked");
    const row = chosen === null ? null : rows().find(one => one.dataset.name === chosen);
    if (picked && row) picked.textContent = describeRow(row);
  }

  function describeRow({ dataset: { name, images, top1, thumbnail } }) {
    const right = share => `${Math.round(share * images)} of ${images}`;
    const parts = [top1 && `${right(top1)} right`, thumbnail && `${right(thumbnail)} from the thumbnail`];
    return `${name}: ${parts.filter(Boolean).join(", ")}. Its heat map is shown under “Content or centre?”.`;
  }

  // The table ------------------------------------------------------------------------------------

  const rows = () => [...element.querySelectorAll(".audit-byclass tbody tr")];

  function filter() {
    const table = find(".audit-byclass");
    const word = find("[data-find]").value.trim().toLowerCase();
    const more = find("[data-more]");
    const few = word || !more || more.hidden ? Infinity : Number(table.dataset.few);
    let visible = 0;
    for (const row of rows()) {
      const fits = row.dataset.name.toLowerCase().includes(word);
      row.hidden = !fits || visible >= few;
      visible += !row.hidden;
    }
    find("[data-nothing]").hidden = visible > 0;
  }

  function sort(button) {
    const key = button.dataset.sort;
    const down = sorted.key === key ? !sorted.down : key !== "name";
    sorted = { key, down };
    const value = row => (key === "name" ? row.dataset.name : key in row.dataset ? Number(row.dataset[key]) : NaN);
    const order = (a, b) => (typeof a === "string" ? a.localeCompare(b) : a - b);
    const list = rows();
    // What is not known stands last, whichever way.
    list.sort((a, b) => {
      const x = value(a);
      const y = value(b);
      return (x !== x) - (y !== y) || (down ? order(y, x) : order(x, y)) || 0;
    });
    list[0].parentNode.append(...list);
    for (const head of element.querySelectorAll(".audit-byclass thead th")) head.removeAttribute("aria-sort");
    button.closest("th").setAttribute("aria-sort", down ? "descending" : "ascending");
    filter();
  }

  element.addEventListener("input", event => {
    if (event.target.matches("[data-map-looks]")) {
      looks = Number(event.target.value);
      draw();
    }
    if (event.target.matches("[data-map-class]")) choose(event.target.value);
    if (event.target.matches("[data-find]")) filter();
  });
  element.addEventListener("click", event => {
    const name = event.target.closest("[data-choose]")?.dataset.choose;
    const field = find("[data-map-class]");
    if (name !== undefined && field) {
      field.value = name;
      choose(name);
    }
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches("[data-sort]")) sort(button);
    if (button.matches("[data-more]")) {
      button.hidden = true;
      filter();
    }
  });
  host.watch("value", show);
  show();
}
