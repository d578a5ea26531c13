// What is on the page: which looks, how far, which classes. Panels read a view of it and never change it.

// `before` is what was on the page; `same` says that it was this picture under this checkpoint.
function openState(scene, before, same) {
  const alike = before && ["most", "shown"].every(key => before.scene[key].join() === scene[key].join());
  const linked = scene.restore ?? {}; // what a link asks for
  const budget = [...(linked.budget ?? (alike ? before.budget : scene.shown))]; // the next picture is shown at the budget of the last
  const { cls, versus } = same ? before : linked;
  const state = { scene, budget, manual: false, plan: [], step: 0, cls: cls ?? null, versus: versus ?? null, focus: null,
                  measure: before?.measure ?? linked.measure ?? "probability", // of what is left without a look
                  threshold: before?.threshold ?? 0.7, tint: before?.tint ?? true,
                  width: before?.width ?? 600 }; // of the drawing, in pixels: asking for it while drawing would lay out the page
  followNetwork(state, scene.levels === 2 ? budget[0] : null);
  const plan = scene.plan ?? linked.steer?.plan;
  if (plan) takePlan(state, plan);
  if (typeof linked.step === "number") goTo(state, linked.step);
  return state;
}

// The same picture with further looks in it, and what was known about it: looks keep their positions.
function adopt(state, scene) {
  for (const map of ["known", "knownWithout"]) for (const [looks, weights] of state.scene[map]) scene[map].set(looks, weights);
  state.scene = scene;
}

// Two levels: all looks, of which the first `step` count. More: the looks of the budget, shown up to `step`.
function followNetwork(state, step = null) {
  const { scene } = state;
  state.manual = false;
  state.plan = scene.levels === 2 ? scene.looks.map((_, at) => at).slice(0, scene.most[0]) : withinBudget(scene, state.budget);
  state.step = Math.min(step ?? state.plan.length, state.plan.length);
  state.course = null;
}

function steerTo(state, plan) {
  Object.assign(state, { manual: true, plan, step: plan.length, course: null });
}

function goTo(state, step) {
  state.step = Math.min(Math.max(step, 0), state.plan.length);
  if (!state.manual && state.scene.levels === 2) state.budget = [state.step];
}

// What the network itself would have taken, to compare looks chosen by hand with.
function ownLooks(state) {
  const { scene } = state;
  return scene.levels === 2 ? scene.looks.map((_, at) => at).slice(0, Math.min(state.step, scene.most[0])) : withinBudget(scene, state.budget);
}

// Probabilities after every step of the plan, and the lead of the first class over the second; made once per plan.
function courseOf(state) {
  state.course ??= Array.from({ length: state.plan.length + 1 }, (_, k) => {
    const share = softmax(logitsOf(state.scene, state.plan.slice(0, k))), top = topClasses(share, 2);
    return { share, top, lead: share[top[0]] - (top.length > 1 ? share[top[1]] : 0) };
  });
  return state.course;
}

// First step at which the leading class is far enough ahead, or null.
function stopAt(state) {
  const at = courseOf(state).findIndex(step => step.lead > state.threshold);
  return at < 0 ? null : at;
}

function viewOf(state) {
  const { scene, plan, step } = state;
  const looks = plan.slice(0, step), weights = weightsOf(scene, looks);
  const logits = logitsOf(scene, looks, weights), share = softmax(logits);
  const order = topClasses(share, 5);
  const cls = state.cls ?? order[0];
  const wanted = state.versus === "second" ? order.find(other => other !== cls) ?? null : state.versus;
  const versus = wanted === cls ? null : wanted;
  return {
    scene, state, looks, weights, logits, share, order, cls, versus,
    before: step > 0 ? courseOf(state)[step - 1].share : null,
    shares: sharesOf(scene, looks, weights, cls, versus),
    newest: looks.length ? looks[looks.length - 1] : null,
    shown: new Set(looks),
  };
}
