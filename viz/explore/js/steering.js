// Looks chosen by hand: add or remove any cell, and see what that changed.

// The plan after a click on a cell, or what must be asked of the server first; `looks` are those it changes.
function toggled(scene, looks, parent, index) {
  const look = lookAt(scene, parent, index);
  if (look < 0) return { plan: looks, add: { parent, index } };
  if (!looks.includes(look)) return { plan: [...looks, look], add: null };
  return { plan: looks.filter(other => other !== look && !inside(scene, other, look)), add: null };
}

function everyStepKnown(scene, plan) {
  return plan.every((_, k) => canShow(scene, plan.slice(0, k + 1)));
}

// Whether these are the looks the network takes itself, in its order.
function isOwn(state, plan) {
  const own = state.scene.levels === 2 ? [...state.scene.looks.keys()].slice(0, plan.length) : withinBudget(state.scene, state.budget);
  return plan.join() === own.join() && (state.scene.levels > 2 || plan.length <= state.scene.most[0]);
}

function takePlan(state, plan) {
  if (isOwn(state, plan)) {
    followNetwork(state, plan.length);
    goTo(state, state.step);
  } else {
    steerTo(state, plan);
  }
}

function drawSteered(stage, view) {
  const note = stage.querySelector(".tn-steered"), { scene, state } = view;
  note.hidden = !state.manual;
  if (note.hidden) return;
  const own = ownLooks(state), mine = view.looks;
  const list = looks => looks.map(look => scene.looks[look].name).join(", ");
  const added = mine.filter(look => !own.includes(look)), removed = own.filter(look => !mine.includes(look));
  const changes = [added.length ? `with ${added.length > 1 ? "looks" : "look"} ${list(added)}` : "", removed.length ? `without ${removed.length > 1 ? "looks" : "look"} ${list(removed)}` : ""];
  const share = softmax(logitsOf(scene, own)), [theirs] = topClasses(share, 1), ours = view.order[0];
  const gain = 100 * (view.share[theirs] - share[theirs]);
  const verdict = ours === theirs ? `${scene.classes[ours]} ${percent(view.share[ours])}` : `${scene.classes[ours]} ${percent(view.share[ours])} instead of ${scene.classes[theirs]}`;
  const how = mine.length ? changes.filter(Boolean).join(", ") || "in another order" : "none at all";
  const theirsBy = own.length ? `The network's own ${counted(own.length, "look", "looks")}` : "The thumbnail alone";
  note.querySelector("p").textContent =
    `Your looks, ${how}: ${verdict}. ${theirsBy}: ${scene.classes[theirs]} ${percent(share[theirs])} (yours ${gain <= -0.05 ? MINUS : "+"}${Math.abs(gain).toFixed(1)} points).`;
}
