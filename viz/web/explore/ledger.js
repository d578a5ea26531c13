// The ledger: exact signed shares of one logit, or of the lead of one class over another, and what is left without
// each.

import { calledRow, leaveOneOut, rowsOf, standingOf } from "../core/scene.js";
import {
  MINUS,
  roundSum,
  formatCount,
  formatFixed,
  formatSigned,
  formatSignedFixed,
  percent,
  short,
} from "../core/text.js";
import { build, buildGroup, buildOption } from "../ui/dom.js";
import { drawBalance, drawCell, drawRow, fillLedger, reachOf, sideOf } from "../ui/ledger_rows.js";
import { focusedPlace, refocus } from "./controls.js";
import { NONE, RIVAL, SECOND, courseOf } from "./state.js";

const FIRST_CHOICES = {
  cls: [["", "the predicted class"]],
  versus: [
    [RIVAL, "what the thumbnail says"],
    [SECOND, "the runner-up"],
    [NONE, "no other class"],
  ],
};

// Which class the first choice means, and why that one.
function nameRival({ scene, state, rival, order }) {
  if (rival === null) return "no other class";
  const isFirst = rival === courseOf(state)[0].top[0];
  return `${isFirst ? "thumbnail" : rival === order[0] ? "decision" : "runner-up"}: ${scene.classes[rival]}`;
}

const buildFirst = select => FIRST_CHOICES[select.dataset.choose].map(([value, text]) => buildOption(value, text));

export function buildLedger(stage) {
  for (const select of stage.querySelectorAll("[data-choose]")) select.replaceChildren(...buildFirst(select));
}

function nameFirst(select, view) {
  const option = select.querySelector(`[value=${RIVAL}]`);
  if (option && option.textContent !== nameRival(view)) option.textContent = nameRival(view);
}

// The lists show what is chosen, whoever chose it.
function drawChoices(stage, view) {
  stage.querySelector("[data-measure]").value = view.state.measure;
  for (const select of stage.querySelectorAll("[data-choose]")) {
    const chosen = String(view.state[select.dataset.choose] ?? "");
    nameFirst(select, view);
    if (select.value === chosen) continue;
    if (![...select.options].some(option => option.value === chosen))
      select.add(new Option(view.scene.classes[chosen], chosen));
    select.value = chosen;
  }
}

// Filled when it is about to be opened: a browser lays out a list of a thousand names again whenever one changes.
export function fillChoices(select, view) {
  const { classes } = view.scene;
  const kept = select.value;
  const list = chosen => chosen.map(cls => buildOption(cls, classes[cls]));
  const sorted = [...classes.keys()].sort((a, b) => classes[a].localeCompare(classes[b]));
  select.replaceChildren(
    ...buildFirst(select),
    buildGroup("most probable", list(view.order)),
    buildGroup("all classes", list(sorted)),
  );
  nameFirst(select, view);
  select.value = kept;
}

// A class's standing as the ledger writes it; a lead has a sign.
function formatStanding(value, measure, versus) {
  if (measure === "logit") return versus === null ? formatFixed(value) : formatSignedFixed(value);
  return versus === null ? percent(value) : `${formatSigned(100 * value)} points`;
}

const VISIBLE_ROWS = 15; // of the ledger; what is longer scrolls
const MAX_NAMES = 3; // of rows that contradict their share, beside the one that does most

// Rows whose share has another sign than what they changed, the greatest change first, as far as both are seen in the
// numbers as they are written.
function contraryRows(shares, full, without, measure, versus) {
  const written = standing => formatStanding(standing[measure], measure, versus);
  const effects = without.map(rest => (rest === null ? 0 : full[measure] - rest[measure]));
  const differs = i =>
    effects[i] !== 0 &&
    shares.values[i] > 0 !== effects[i] > 0 &&
    short(shares.values[i]) !== "0" &&
    written(without[i]) !== written(full);
  return [...effects.keys()].filter(differs).sort((a, b) => Math.abs(effects[b]) - Math.abs(effects[a]));
}

// One sentence about the row where share and effect disagree most, and the names of the others.
function contrarySentence(view, rows, found, full, without) {
  const { scene, shares, cls, versus } = view;
  const { measure } = view.state;
  const [worst, ...others] = found;
  const value = shares.values[worst];
  const [rest, all] = [without[worst], full].map(standing => formatStanding(standing[measure], measure, versus));
  const what = measure === "probability" ? scene.classes[cls] : `the logit of ${scene.classes[cls]}`;
  const subject = versus === null ? what : `the lead of ${scene.classes[cls]} over ${scene.classes[versus]}`;
  const name = calledRow(scene, rows[worst]);
  const named = name === "context" ? "The context" : name[0].toUpperCase() + name.slice(1);
  const names =
    others.length > MAX_NAMES
      ? formatCount(others.length, "other row", "other rows")
      : others.map(i => calledRow(scene, rows[i])).join(", ");
  const also = others.length ? ` Likewise, marked ≠: ${names}.` : "";
  const effect = `yet it ${value > 0 ? "lowered" : "raised"} ${subject}: ${all} with it, ${rest} without it.`;
  return `${named} has a share of ${formatSigned(value)}, ${effect}${also}`;
}

// What is left without a row, for its title.
function formatRest(rest, versus) {
  if (rest === null) return "";
  const lead = versus === null ? "" : "leads by ";
  return `; without it ${lead}probability ${rest.probability.toFixed(5)}, logit ${rest.logit.toFixed(5)}`;
}

function drawWithout(rest, measure, versus, isContrary) {
  if (rest === null) return drawCell("\u2013", { class: "tn-without", title: "Nothing would remain." });
  const text = `${isContrary ? "≠ " : ""}${formatStanding(rest[measure], measure, versus)}`;
  return drawCell(text, { class: isContrary ? "tn-without tn-contrary" : "tn-without", "data-without": rest[measure] });
}

function drawSum(shares, versus) {
  const { sum, term, total } = roundSum(shares.bias, shares.total);
  const bias = `${term < 0 ? MINUS : "+"} bias ${formatFixed(Math.abs(term))}`;
  const text = `${formatFixed(sum)} ${bias} = ${versus === null ? "logit" : "lead"} `;
  const cell = build("td", { colspan: 4, "data-total": shares.total }, text, build("b", {}, formatFixed(total)));
  return drawRow("sum", {}, cell);
}

export function drawLedger(stage, view) {
  const { scene, looks, weights, shares, cls, versus } = view;
  const { measure } = view.state;
  const place = focusedPlace(stage);
  drawChoices(stage, view);
  stage.querySelector(".tn-ledger .tn-lead-of").hidden = versus === null;
  const rows = rowsOf(looks);
  const full = standingOf(view.logits, view.share, cls, versus);
  const without = leaveOneOut(scene, looks, cls, versus);
  const found = contraryRows(shares, full, without, measure, versus);
  const reach = reachOf(shares.values);
  const drawn = rows.map((row, i) => {
    const value = shares.values[i];
    const attributes = {
      "data-look": row ? row - 1 : null,
      tabindex: row ? 0 : null,
      class: row && row - 1 === view.newest ? "tn-newest" : null,
      title: `share ${value.toFixed(5)}, weight ${weights[i].toFixed(5)}${formatRest(without[i], versus)}`,
    };
    return drawRow(calledRow(scene, row), attributes, [
      drawBalance(value, reach),
      drawCell(formatSigned(value), { class: sideOf(value), "data-value": value }),
      drawWithout(without[i], measure, versus, found.includes(i)),
      drawCell(short(weights[i]), { "data-weight": weights[i] }),
    ]);
  });
  fillLedger(stage.querySelector(".tn-ledger"), drawn, [drawSum(shares, versus)]);
  refocus(stage, place);
  const more = stage.querySelector(".tn-goes-on");
  more.hidden = rows.length <= VISIBLE_ROWS;
  more.textContent = more.hidden ? "" : `${rows.length} rows: scroll for those below.`;
  const sentence = stage.querySelector(".tn-disagree");
  sentence.hidden = found.length === 0;
  sentence.textContent = found.length ? contrarySentence(view, rows, found, full, without) : "";
  const target =
    versus === null
      ? `the logit of ${scene.classes[cls]}`
      : `the lead of ${scene.classes[cls]} over ${scene.classes[versus]}, in logits`;
  const remaining =
    versus === null ? `the class's ${measure}` : `this lead in ${measure === "logit" ? "logits" : "probability"}`;
  const inner = scene.levels > 2 ? ", looks inside it included" : "";
  stage.querySelector(".tn-ledger .tn-caption").textContent =
    `Shares are exact and add up to ${target}. “Without it” is ${remaining} from all the others${inner}: ` +
    "they are weighed anew then, so a share is not what a look changed." +
    (view.state.versus === RIVAL && versus !== null
      ? " The class is compared with what the thumbnail alone says, or with the runner-up where that is the same."
      : "");
}
