// A traversal as the server sent it, and what follows from it: everything here is arithmetic on cached numbers.

function floats(text) {
  return new Float32Array(Uint8Array.from(atob(text), c => c.charCodeAt(0)).buffer);
}

const keyOf = looks => [...looks].sort((a, b) => a - b).join(",");

export function openScene(sent) {
  const scene = {
    ...sent,
    projections: floats(sent.projections),
    bias: floats(sent.bias),
    known: new Map(),
    knownWithout: new Map(),
  };
  learnWeights(scene, sent.weights);
  if (sent.restore?.steer) learnLooks(scene, sent.restore.steer);
  return scene;
}

// Looks from position `first` on with their grids and projections, of which some may be known, and weights of some
// sets.
// Whether a look is new.
export function learnLooks(scene, { first, looks = [], grids = [], projections = "", weights }) {
  learnWeights(scene, weights);
  const known = scene.looks.length - first;
  if (!(looks.length > known)) return false;
  const rows = floats(projections).subarray(known * scene.bias.length);
  const all = new Float32Array(scene.projections.length + rows.length);
  all.set(scene.projections);
  all.set(rows, scene.projections.length);
  scene.projections = all;
  scene.grids.push(...grids.filter(grid => !gridOf(scene, grid.parent)));
  scene.looks.push(...looks.slice(known));
  return true;
}

// Weights of further sets of looks: the thumbnail's first, then those of the looks by position. `without` has, of each
// set and each of its rows, the weights of the other rows when that one is left out.
export function learnWeights(scene, weights) {
  const values = floats(weights.values);
  const rest = weights.without ? floats(weights.without) : null;
  let at = 0;
  let from = 0;
  for (const looks of weights.sets) {
    const count = looks.length;
    const key = looks.join(",");
    scene.known.set(key, values.subarray(at, at + count + 1));
    at += count + 1;
    if (rest) scene.knownWithout.set(key, rest.subarray(from, from + count * (count + 1)));
    from += count * (count + 1);
  }
}

export const canShow = (scene, looks) => scene.uniform || scene.known.has(keyOf(looks));

// Weights of the thumbnail and of these looks, in this order; they sum to 1.
export function weightsOf(scene, looks) {
  if (scene.uniform) return [-1, ...looks].map(() => 1 / (looks.length + 1));
  const stored = scene.known.get(keyOf(looks));
  const rank = new Map([...looks].sort((a, b) => a - b).map((look, i) => [look, i + 1]));
  return [stored[0], ...looks.map(look => stored[rank.get(look)])];
}

// Rows of the thumbnail and of these looks.
export const rowsOf = looks => [0, ...looks.map(look => look + 1)];

// Weights of all rows of a set but the one at this place, in their order; null where they are not known.
function weightsWithout(scene, looks, left) {
  const count = looks.length;
  if (scene.uniform) return looks.map(() => 1 / count);
  const stored = scene.knownWithout.get(keyOf(looks));
  if (!stored) return null;
  const rank = new Map([...looks].sort((a, b) => a - b).map((look, i) => [look + 1, i + 1])).set(0, 0);
  const rows = rowsOf(looks);
  const gone = rank.get(rows[left]);
  return rows
    .filter((_, i) => i !== left)
    .map(row => stored[gone * count + rank.get(row) - (rank.get(row) > gone ? 1 : 0)]);
}

// logits = bias + sum of weight times projection, over the thumbnail (row 0) and the looks.
export function logitsOf(scene, looks, weights = weightsOf(scene, looks)) {
  return mixedRows(scene, rowsOf(looks), weights);
}

function mixedRows(scene, rows, weights) {
  const { bias, projections } = scene;
  const count = bias.length;
  const total = new Float64Array(bias);
  rows.forEach((row, i) => {
    const weight = weights[i];
    const start = row * count;
    for (let c = 0; c < count; c++) total[c] += weight * projections[start + c];
  });
  return total;
}

// Probabilities as they are shown: at the checkpoint's temperature, if it has one.
export const probabilitiesOf = (scene, logits) => softmax(logits, scene.temperature ?? 1);

// What may be said about them.
export const sayCalibrated = scene =>
  scene.temperature
    ? "Probabilities are calibrated: right as often as they say, on pictures like those it was measured with."
    : "Probabilities are the network's own and may be too sure of themselves.";

// Plain loops: the ledger takes one of these per look, at every move of the slider.
export function softmax(logits, temperature = 1) {
  const count = logits.length;
  const share = new Float64Array(count);
  let top = -Infinity;
  let sum = 0;
  for (let c = 0; c < count; c++) if (logits[c] > top) top = logits[c];
  for (let c = 0; c < count; c++) sum += share[c] = Math.exp((logits[c] - top) / temperature);
  for (let c = 0; c < count; c++) share[c] /= sum;
  return share;
}

// The most probable classes, ties to the lower number. A pass per class: there are a thousand, and few are wanted.
export function topClasses(values, count) {
  const found = [];
  while (found.length < Math.min(count, values.length)) {
    let best = -1;
    for (let c = 0; c < values.length; c++) if ((best < 0 || values[c] > values[best]) && !found.includes(c)) best = c;
    found.push(best);
  }
  return found;
}

// Exact signed shares of a class's logit, or of its lead over another class.
export function sharesOf(scene, looks, weights, cls, versus) {
  const count = scene.bias.length;
  const score = row =>
    scene.projections[row * count + cls] - (versus === null ? 0 : scene.projections[row * count + versus]);
  const values = rowsOf(looks).map((row, i) => weights[i] * score(row));
  const bias = scene.bias[cls] - (versus === null ? 0 : scene.bias[versus]);
  return { values, bias, total: values.reduce((a, b) => a + b, bias) };
}

// A class's probability and logit, or its leads over another class.
export function standingOf(logits, share, cls, versus) {
  const lead = values => values[cls] - (versus === null ? 0 : values[versus]);
  return { probability: lead(share), logit: lead(logits) };
}

// The same without the thumbnail, then without each of the looks, whose weights then change; looks inside the one left
// out stay. Null where nothing would remain.
export function leaveOneOut(scene, looks, cls, versus) {
  const rows = rowsOf(looks);
  return rows.map((_, left) => {
    const weights = looks.length ? weightsWithout(scene, looks, left) : null;
    if (weights === null) return null;
    const others = rows.toSpliced(left, 1);
    const logits = mixedRows(scene, others, weights);
    return standingOf(logits, probabilitiesOf(scene, logits), cls, versus);
  });
}

// What the network would say from one row alone.
export function decideAlone(scene, row) {
  const count = scene.bias.length;
  const logits = scene.bias.map((bias, c) => bias + scene.projections[row * count + c]);
  const share = probabilitiesOf(scene, logits);
  const [cls] = topClasses(share, 1);
  return { cls, share: share[cls] };
}

// The looks that a budget takes: so many in every grid, as the network ranked them.
export function withinBudget(scene, budget) {
  const taken = new Map();
  const kept = new Set([null]);
  return scene.looks.flatMap((look, at) => {
    const order = taken.get(look.parent) ?? 0;
    taken.set(look.parent, order + 1);
    if (!kept.has(look.parent) || order >= budget[look.level - 2]) return [];
    kept.add(at);
    return [at];
  });
}

// Looks and all that leads to them.
function withParents(scene, looks) {
  const needed = new Set();
  for (let look of looks) for (; look !== null && !needed.has(look); look = scene.looks[look].parent) needed.add(look);
  return needed;
}

export function flopsOf(scene, looks) {
  const needed = withParents(scene, looks);
  const grids = [...needed].filter(look => scene.looks[look].level < scene.levels).length + (scene.levels > 1 ? 1 : 0);
  return scene.flops.thumbnail + needed.size * scene.flops.look + grids * scene.flops.grid;
}

// Share of the picture inside the union of boxes.
export function coverage(boxes) {
  const cuts = axis => [...new Set(boxes.flatMap(box => [box[axis], box[axis + 2]]))].sort((a, b) => a - b);
  const xs = cuts(0);
  const ys = cuts(1);
  let area = 0;
  for (let i = 0; i + 1 < xs.length; i++)
    for (let j = 0; j + 1 < ys.length; j++) {
      const inside = boxes.some(b => b[0] <= xs[i] && b[2] >= xs[i + 1] && b[1] <= ys[j] && b[3] >= ys[j + 1]);
      if (inside) area += (xs[i + 1] - xs[i]) * (ys[j + 1] - ys[j]);
    }
  return area;
}

export const gridOf = (scene, parent) => scene.grids.find(grid => grid.parent === parent);
export const lookAt = (scene, parent, index) =>
  scene.looks.findIndex(look => look.parent === parent && look.index === index);
export const calledRow = (scene, row) => (row === 0 ? "context" : `look ${scene.looks[row - 1].name}`);

// Looks of one level that lie inside others are found by their path, which their names spell.
export const inside = (scene, look, other) => scene.looks[look].name.startsWith(scene.looks[other].name + ".");
