// Panels of the stage: the decision, the crops, the course of the prediction, and which pixels looks are cut from.

import { calledRow, decideAlone, sayCalibrated } from "../core/scene.js";
import { MINUS, formatCount, formatSigned, ordinal, percent, short } from "../core/text.js";
import { build } from "../ui/dom.js";
import { describeOrigin, drawClass, listClasses, sideOf } from "../ui/ledger_rows.js";
import { LARGE, drawKey, drawLineChart, readPlace } from "../ui/line_chart.js";
import { courseOf, ruleOf, stopAt } from "./state.js";

// Probabilities on a fixed scale, and what the newest look changed.
export function drawDecision(stage, view) {
  const { scene, share, before, newest } = view;
  const rows = listClasses(view).map(cls => {
    const gained = before ? 100 * (share[cls] - before[cls]) : 0;
    return drawClass(scene, cls, view, build("u", {}, Math.abs(gained) < 0.5 ? null : drawChange(gained)));
  });
  const isChanged = rows.some(row => row.querySelector("u i"));
  stage.querySelector(".tn-classes").replaceChildren(...rows);
  stage.querySelector(".tn-decision .tn-unit").textContent = isChanged
    ? `points by look ${scene.looks[newest].name}`
    : "";
  const arrows = before ? "; arrows show what the newest look changed, in points" : "";
  stage.querySelector(".tn-decision .tn-head p").textContent =
    `${describeOrigin(view.looks)}${arrows}. ${sayCalibrated(scene)}`;
}

function drawChange(gained) {
  const text = `${gained > 0 ? "▲ +" : `▼ ${MINUS}`}${Math.abs(gained).toFixed(0)}`;
  return build("i", { class: gained > 0 ? "tn-up" : "tn-down", title: "points gained by the newest look" }, text);
}

// The crops, exactly as the network saw them.
export function buildLooks(stage, scene) {
  const zooms = stage.classList.contains("tn-zooms");
  const items = [-1, ...scene.looks.keys()].map(at => buildLook(scene, at, zooms));
  stage.querySelector(".tn-looks").replaceChildren(...items);
}

// `at` is -1 for the thumbnail; `zooms` says whether a click shows it at native pixels.
function buildLook(scene, at, zooms) {
  const look = at < 0 ? null : scene.looks[at];
  const name = calledRow(scene, at + 1);
  const own = decideAlone(scene, at + 1);
  const deep = scene.levels > 2 ? `level ${look?.level}` : `${ordinal(look?.rank)} choice`;
  const saw = build("img", { src: look?.crop ?? scene.thumbnail, alt: `What ${name} saw` });
  const button = {
    type: "button",
    "data-zoom": at + 1,
    "aria-label": `${name} at native pixels`,
    title: "See the picture here at native pixels",
  };
  return build(
    "li",
    { class: "tn-look", "data-row": at + 1, "data-look": look && at, tabindex: look && !zooms ? 0 : null },
    zooms ? build("button", button, saw) : saw,
    build("b", {}, name),
    build("small", {}, look ? deep : "the whole picture"),
    build("i"),
    build("small", { class: "tn-weight" }),
    build("small", { class: "tn-alone" }, `alone: ${scene.classes[own.cls]} `, build("span", {}, percent(own.share))),
  );
}

export function drawLooks(stage, view) {
  const list = stage.querySelector(".tn-looks");
  const at = new Map([[0, 0], ...view.looks.map((look, i) => [look + 1, i + 1])]);
  for (const item of list.children) {
    const row = Number(item.dataset.row);
    const i = at.get(row);
    item.hidden = i === undefined;
    if (item.hidden) continue;
    item.style.order = i; // looks added by hand come last, whatever their position
    item.classList.toggle("tn-newest", row > 0 && row - 1 === view.newest);
    const value = view.shares.values[i];
    const share = item.querySelector("i");
    share.className = sideOf(value);
    share.textContent = formatSigned(value);
    item.querySelector(".tn-weight").textContent = `weight ${short(view.weights[i])}`;
  }
}

const STROKES = ["", "7 4", "2 3", "10 3 2 3", "1 5"];

// The classes that lead at the end, at the start and where the page stands; a handful, the true one always among them.
function listDrawnClasses(view) {
  const course = courseOf(view.state);
  const leading = view.order.slice(0, 2);
  for (const step of [course[course.length - 1], course[0]]) leading.push(...step.top);
  const drawn = [...new Set(leading)].slice(0, STROKES.length);
  const { label } = view.scene;
  return label === null || drawn.includes(label) ? drawn : [...drawn.slice(0, STROKES.length - 1), label];
}

// Probability of the leading classes after every look.
export function drawCurve(stage, view) {
  const plot = stage.querySelector(".tn-plot");
  const { state, scene } = view;
  const course = courseOf(state);
  const last = course.length - 1;
  const stop = stopAt(state);
  const lines = listDrawnClasses(view).map((cls, i) => ({
    values: course.map(step => step.share[cls]),
    kind: i ? "" : "tn-lead",
    dash: STROKES[i],
    data: { "data-class": cls },
    text: scene.classes[cls],
    value: percent(view.share[cls]),
  }));
  const label = "Probability of the leading classes after each look";
  plot.replaceChildren(
    drawLineChart(LARGE, { width: state.width, last, at: state.step, stop, lines, label }),
    drawKey([...lines, { kind: "tn-stop", text: "would stop here" }]),
  );
  plot.dataset.stop = stop ?? "";
  stage.querySelector(".tn-threshold").hidden = last === 0;
  offerRule(stage.querySelector(".tn-threshold select"), scene.rule, ruleOf(state));
  stage.querySelector(".tn-course .tn-head p").textContent = describeCourse(last, stop, ruleOf(state));
}

// The checkpoint's own rule is offered where it has one.
function offerRule(select, own, rule) {
  const option = select.querySelector("[value=rule]");
  option.hidden = option.disabled = !own;
  if (own) option.textContent = `recommended: ${describeRule(own)}`;
  select.value = "lead" in rule ? String(rule.lead) : "rule";
}

const describeRule = rule =>
  rule.least === rule.most
    ? formatCount(rule.most, "look", "looks")
    : `${rule.least} to ${rule.most} looks, until ${percent(rule.threshold)} sure`;

function describeCourse(last, stop, rule) {
  const subject = "Probability of the leading classes";
  if (last === 0) return `${subject} from the thumbnail alone: no look is taken, so there is no course to follow.`;
  const place = stop ? `after ${formatCount(stop, "look", "looks")}` : "at the thumbnail";
  const never =
    "lead" in rule
      ? `The lead never exceeds ${Math.round(100 * rule.lead)} points: all looks would be taken.`
      : "By the recommended rule the network would take further looks.";
  const where =
    stop === null
      ? never
      : `${"lead" in rule ? "With that" : "By the recommended"} rule the network would stop ${place}.`;
  const what = `${subject} after each look, thumbnail first; the vertical line is where the page stands.`;
  return `${what} ${where} More looks do not always help.`;
}

// Which step a place on the drawing means.
export function stepAt(plot, state, clientX) {
  return readPlace(plot.querySelector("svg"), LARGE, state.plan.length, clientX);
}

// Which pixels looks are cut from: the words come with the scene, a choice asks the server for the same picture again.

function buildRadios(name, legend, choices, chosen) {
  if (choices.length < 2) return null;
  const labels = choices.map(([value, text]) => {
    const input = build("input", { type: "radio", name: `tn-${name}`, value, checked: value === chosen });
    return build("label", {}, input, build("span", {}, text));
  });
  return build("fieldset", { "data-cut": name }, build("legend", {}, legend), build("div", {}, labels));
}

// `resample` takes what is chosen; a page that cannot do so, such as a report, says only how it was done.
export function buildCut(stage, scene, resample) {
  const place = stage.querySelector(".tn-cut");
  const form = place.querySelector("form");
  const { cut } = scene;
  place.hidden = !cut;
  if (!cut) return;
  const frames = buildRadios("frame", "Looks are cut from", cut.frames, cut.frame);
  const depths = buildRadios("depth", "Levels", cut.depths, cut.levels ?? "trained");
  form.replaceChildren(...[frames, depths].filter(choice => resample && choice));
  const isAsked = form.childElementCount > 0; // without a choice above it, "why?" would be about nothing
  place.querySelector("summary").textContent = isAsked ? "why?" : "Which pixels are looks cut from?";
  place.querySelector("p").textContent = cut.sentence;
  form.removeAttribute("aria-busy");
  form.onsubmit = event => event.preventDefault();
  form.onclick = event => {
    if (form.hasAttribute("aria-busy")) event.preventDefault();
  }; // one question at a time; keys click too
  form.onchange = () => {
    const chosen = name => form.querySelector(`[data-cut="${name}"] input:checked`)?.value ?? null;
    const sampling = chosen("frame");
    const levels = sampling !== "official" && chosen("depth") === "auto" ? "auto" : null;
    form.setAttribute("aria-busy", "true");
    resample({ sampling, levels });
  };
}
