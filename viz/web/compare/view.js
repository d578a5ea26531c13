// Both columns at the looks that count, and the class they are compared for.

import { logitsOf, openScene, probabilitiesOf, sharesOf, topClasses, weightsOf, withinBudget } from "../core/scene.js";

export const SIDES = ["a", "b"];
export const pathKey = look => look.path.join(".");

export function openPair(sent) {
  const pair = { ...sent };
  for (const side of SIDES)
    pair[side] = {
      ...openScene(sent[side]),
      picture: sent.pictures[sent[side].picture],
      title: sent[side].caption,
      called: sent[side].title,
    };
  pair.toB = new Map(sent.common);
  pair.toA = new Map(sent.common.map(([a, b]) => [b, a]));
  return pair;
}

// As far as a column has looks; entries beyond its levels are for the other one.
const clipBudget = (scene, budget) => scene.most.map((most, level) => Math.min(most, budget[level] ?? 0));

function columnView(scene, budget) {
  const looks = withinBudget(scene, clipBudget(scene, budget));
  const weights = weightsOf(scene, looks);
  const logits = logitsOf(scene, looks, weights);
  const share = probabilitiesOf(scene, logits);
  return { scene, looks, weights, logits, share, order: topClasses(share, 5), shown: new Set(looks) };
}

// [class of A, class of B]; null where a checkpoint does not know it.
function chooseClass(pair, a, b, choice) {
  if (typeof choice === "number") return pair.common[choice];
  const ofA = [a.order[0], pair.toB.get(a.order[0]) ?? null];
  const ofB = [pair.toA.get(b.order[0]) ?? null, b.order[0]];
  const known = (choice === "b" ? [ofB, ofA] : [ofA, ofB]).find(both => !both.includes(null));
  if (known) return known;
  const likeliest = pair.common.reduce(
    (best, both) => (best === null || a.share[both[0]] > a.share[best[0]] ? both : best),
    null,
  );
  return likeliest ?? [a.order[0], b.order[0]]; // nothing in common: each for itself
}

export function viewOf(state) {
  const { pair, budget } = state;
  const a = columnView(pair.a, budget);
  const b = columnView(pair.b, budget);
  const cls = chooseClass(pair, a, b, state.cls);
  return { pair, budget, state, a, b, cls: { a: cls[0], b: cls[1] }, comparable: pair.common.length > 0 };
}

// Probability of a class after 0, 1, … looks at the picture, deeper looks as they are.
export function courseOf(scene, budget, cls) {
  const deeper = budget.slice(1);
  const key = deeper.join();
  if (scene.course?.key !== key) {
    const steps = Array.from({ length: scene.most[0] + 1 }, (_, k) =>
      probabilitiesOf(scene, logitsOf(scene, withinBudget(scene, clipBudget(scene, [k, ...deeper])))),
    );
    scene.course = { key, steps };
  }
  return scene.course.steps.map(share => share[cls]);
}

// Shares of both logits, matched by cell where both grids are of one size: the rule of tnet_core.compare.ledger.
export function ledgerOf(view) {
  const { pair } = view;
  const [left, right] = SIDES.map(side => {
    const { scene, looks, weights } = view[side];
    const shares = sharesOf(scene, looks, weights, view.cls[side], null);
    const rows = new Map([[null, { look: null, value: shares.values[0] }]]);
    looks.forEach((look, i) => rows.set(pathKey(scene.looks[look]), { look, value: shares.values[i + 1] }));
    return { rows, bias: shares.bias, total: shares.total };
  });
  const rows = [...left.rows].map(([key, own]) => {
    const match = key === null || pair.matched ? (right.rows.get(key) ?? null) : null;
    if (match) right.rows.delete(key);
    return { key, a: own, b: match };
  });
  for (const [key, own] of right.rows) rows.push({ key, a: null, b: own });
  for (const row of rows) row.difference = (row.b?.value ?? 0) - (row.a?.value ?? 0);
  return { rows, bias: [left.bias, right.bias], logits: [left.total, right.total] };
}
