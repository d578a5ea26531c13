// What is on the page: which looks, how far, which classes. Panels read a view of it and never change it.

import {
  canShow,
  inside,
  logitsOf,
  lookAt,
  probabilitiesOf,
  sharesOf,
  topClasses,
  weightsOf,
  withinBudget,
} from "../core/scene.js";
import { MINUS, formatCount, percent } from "../core/text.js";

// What a class is compared with, besides a class by its number: what the thumbnail alone says (the runner-up where that
// is the same class), the runner-up, or nothing.
export const RIVAL = "rival";
export const SECOND = "second";
export const NONE = "none";

// `before` is what was on the page; `same` says that it was this picture under this checkpoint.
export function openState(scene, before, same) {
  const alike = before && ["most", "shown"].every(key => before.scene[key].join() === scene[key].join());
  const linked = scene.restore ?? {}; // what a link asks for
  // The next picture is shown at the budget of the last.
  const budget = [...(linked.budget ?? (alike ? before.budget : scene.shown))];
  const { cls, versus } = same ? before : linked;
  const state = {
    scene,
    budget,
    manual: false,
    plan: [],
    step: 0,
    isStep: false, // whether the page got here by one look more or less
    cls: cls ?? null,
    versus: versus ?? RIVAL, // a class, RIVAL, SECOND or NONE
    focus: null,
    measure: before?.measure ?? linked.measure ?? "probability", // of what is left without a look
    threshold: before?.threshold ?? "rule", // to stop at: the checkpoint's own rule, or a lead
    tint: before?.tint ?? false, // the picture is as bright as it is
    width: before?.width ?? 600,
  }; // of the drawing, in pixels: asking for it while drawing would lay out the page
  followNetwork(state, scene.levels === 2 ? budget[0] : null);
  const plan = scene.plan ?? linked.steer?.plan;
  if (plan) takePlan(state, plan);
  if (typeof linked.step === "number") goTo(state, linked.step);
  state.isStep = false; // it has just come
  return state;
}

// Two levels: all looks, of which the first `step` count. More: the looks of the budget, shown up to `step`.
export function followNetwork(state, step = null) {
  const { scene } = state;
  state.manual = false;
  state.plan =
    scene.levels === 2 ? scene.looks.map((_, at) => at).slice(0, scene.most[0]) : withinBudget(scene, state.budget);
  moveTo(state, Math.min(step ?? state.plan.length, state.plan.length));
  state.course = null;
}

function steerTo(state, plan) {
  Object.assign(state, { manual: true, plan, step: plan.length, isStep: plan.length > 0, course: null });
}

function moveTo(state, step) {
  state.isStep = Math.abs(step - state.step) === 1;
  state.step = step;
}

export function goTo(state, step) {
  moveTo(state, Math.min(Math.max(step, 0), state.plan.length));
  if (!state.manual && state.scene.levels === 2) state.budget = [state.step];
}

// What the network itself would have taken, to compare looks chosen by hand with.
function ownLooks(state) {
  const { scene } = state;
  return scene.levels === 2
    ? scene.looks.map((_, at) => at).slice(0, Math.min(state.step, scene.most[0]))
    : withinBudget(scene, state.budget);
}

// Probabilities after every step of the plan, and the lead of the first class over the second; made once per plan.
export function courseOf(state) {
  state.course ??= Array.from({ length: state.plan.length + 1 }, (_, k) => {
    const share = probabilitiesOf(state.scene, logitsOf(state.scene, state.plan.slice(0, k)));
    const top = topClasses(share, 2);
    return { share, top, lead: share[top[0]] - (top.length > 1 ? share[top[1]] : 0) };
  });
  return state.course;
}

// The rule in force: the checkpoint's own, where it has one and is to decide, else how far ahead a class must be.
export function ruleOf(state) {
  const own = state.scene.rule;
  return state.threshold === "rule" ? (own ?? { lead: 0.7 }) : { lead: state.threshold };
}

// First step at which the network may stop, or null.
export function stopAt(state) {
  const rule = ruleOf(state);
  const sure = (step, k) => k >= rule.most || (k >= rule.least && step.share[step.top[0]] > rule.threshold);
  const at = courseOf(state).findIndex((step, k) => ("lead" in rule ? step.lead > rule.lead : sure(step, k)));
  return at < 0 ? null : at;
}

export function viewOf(state) {
  const { scene, plan, step } = state;
  const looks = plan.slice(0, step);
  const weights = weightsOf(scene, looks);
  const logits = logitsOf(scene, looks, weights);
  const share = probabilitiesOf(scene, logits);
  const order = topClasses(share, 5);
  const cls = state.cls ?? order[0];
  const another = classes => classes.find(other => other !== cls) ?? null;
  const rival = another([courseOf(state)[0].top[0], ...order]);
  const meant = { [RIVAL]: rival, [SECOND]: another(order), [NONE]: null };
  const choice = state.versus in meant ? meant[state.versus] : state.versus;
  const versus = choice === cls ? null : choice;
  return {
    scene,
    state,
    looks,
    weights,
    logits,
    share,
    order,
    cls,
    versus,
    rival,
    before: step > 0 ? courseOf(state)[step - 1].share : null,
    shares: sharesOf(scene, looks, weights, cls, versus),
    newest: looks.length ? looks[looks.length - 1] : null,
    shown: new Set(looks),
  };
}

// Looks chosen by hand: add or remove any cell, and see what that changed.

// The plan after a click on a cell, or what must be asked of the server first; `looks` are those it changes.
export function toggleLook(scene, looks, parent, index) {
  const look = lookAt(scene, parent, index);
  if (look < 0) return { plan: looks, add: { parent, index } };
  if (!looks.includes(look)) return { plan: [...looks, look], add: null };
  return { plan: looks.filter(other => other !== look && !inside(scene, other, look)), add: null };
}

// How many looks of a plan, with the one to be added, the steps have whose weights the page lacks.
export function unknownSteps(scene, { plan, add }) {
  const steps = [...plan.keys()].map(at => at + 1).filter(count => !canShow(scene, plan.slice(0, count)));
  return add === null ? steps : [...steps, plan.length + 1];
}

// Whether these are the looks the network takes itself, in its order.
function isOwn(state, plan) {
  const own =
    state.scene.levels === 2
      ? [...state.scene.looks.keys()].slice(0, plan.length)
      : withinBudget(state.scene, state.budget);
  return plan.join() === own.join() && (state.scene.levels > 2 || plan.length <= state.scene.most[0]);
}

export function takePlan(state, plan) {
  if (isOwn(state, plan)) {
    followNetwork(state, plan.length);
    goTo(state, state.step);
  } else {
    steerTo(state, plan);
  }
}

export function drawSteered(stage, view) {
  const note = stage.querySelector(".tn-steered");
  const { scene, state } = view;
  note.hidden = !state.manual;
  if (note.hidden) return;
  const own = ownLooks(state);
  const mine = view.looks;
  const list = looks => looks.map(look => scene.looks[look].name).join(", ");
  const added = mine.filter(look => !own.includes(look));
  const removed = own.filter(look => !mine.includes(look));
  const changes = [
    added.length ? `with ${added.length > 1 ? "looks" : "look"} ${list(added)}` : "",
    removed.length ? `without ${removed.length > 1 ? "looks" : "look"} ${list(removed)}` : "",
  ];
  const share = probabilitiesOf(scene, logitsOf(scene, own));
  const [theirs] = topClasses(share, 1);
  const ours = view.order[0];
  const gain = 100 * (view.share[theirs] - share[theirs]);
  const verdict =
    ours === theirs
      ? `${scene.classes[ours]} ${percent(view.share[ours])}`
      : `${scene.classes[ours]} ${percent(view.share[ours])} instead of ${scene.classes[theirs]}`;
  const how = mine.length ? changes.filter(Boolean).join(", ") || "in another order" : "none at all";
  const theirsBy = own.length ? `The network's own ${formatCount(own.length, "look", "looks")}` : "The thumbnail alone";
  note.querySelector("p").textContent =
    `Your looks, ${how}: ${verdict}. ${theirsBy}: ${scene.classes[theirs]} ${percent(share[theirs])} ` +
    `(yours ${gain <= -0.05 ? MINUS : "+"}${Math.abs(gain).toFixed(1)} points).`;
}
