// What the tour says about a picture: six steps, each with a sentence, its formula with numbers, and what it marks.

import { calledRow, gridOf, logitsOf, probabilitiesOf, rowsOf, topClasses } from "../core/scene.js";
import { formatCount, formatFixed, formatSigned, formatSignedFixed, percent, short, times } from "../core/text.js";

const MAX_ROWS = 6; // of a formula; the others are one row

const term = (text, value = null) => ({ text, value });

function answerOf(scene, looks) {
  const share = probabilitiesOf(scene, logitsOf(scene, looks));
  const [cls] = topClasses(share, 1);
  return { name: scene.classes[cls], share: share[cls] };
}

// `list` as rows of a formula: the first few by themselves, the rest summed up in one.
function firstRows(list, write, writeRest) {
  if (list.length <= MAX_ROWS + 1) return list.map(write);
  return [...list.slice(0, MAX_ROWS).map(write), writeRest(list.slice(MAX_ROWS))];
}

function thumbnailStep({ scene }) {
  const { name, share } = answerOf(scene, []);
  return {
    title: "Thumbnail",
    sentence:
      `First it sees the whole picture at ${scene.base} × ${scene.base} pixels, as now shown; ` +
      `from that alone it would say ${name}, ${percent(share)}.`,
    formula: [
      term(`${scene.width} × ${scene.height} px → ${scene.base} × ${scene.base} px → one feature vector`),
      term(`probability of ${name} = ${percent(share)}`, share),
    ],
    marks: ".tn-picture",
    overlay: "thumbnail",
    looks: "none",
  };
}

function gridStep({ scene }) {
  const cells = scene.grid ** 2;
  const [[x0, , x1]] = gridOf(scene, null).boxes;
  return {
    title: "Grid",
    sentence: `It divides the picture into ${scene.grid} × ${scene.grid} overlapping cells, places to look at.`,
    formula: [
      term(`${scene.grid} × ${scene.grid} = ${cells} cells`, cells),
      term(`the first is ${percent(x1 - x0)} of the picture wide; they overlap, so lines are drawn between middles`),
    ],
    marks: ".tn-picture",
    overlay: "grid",
    looks: "none",
  };
}

function scoreStep({ scene }) {
  const cells = scene.grid ** 2;
  const { lift, rank } = gridOf(scene, null);
  const best = rank.indexOf(1);
  const [low, high] = scene.lift;
  const place = `row ${Math.floor(best / scene.grid) + 1}, column ${(best % scene.grid) + 1}`;
  return {
    title: "Scores",
    sentence:
      `It ranks the cells: the marked one (${place}) is first, ${times(lift[best])} as likely as by chance. ` +
      "Its probabilities are nearly equal by construction: ranks and this lift tell more.",
    formula: [
      term("p = exp(s) ÷ sum of all exp(s); the scores s of a grid are scaled to unit length before"),
      term(`so p lies between ${percent(low / cells)} and ${percent(high / cells)}, whatever was learned`),
      term(
        `the marked cell, ${place}: p = ${times(lift[best])} 1/${cells} = ${percent(lift[best] / cells)}`,
        lift[best] / cells,
      ),
    ],
    marks: ".tn-picture",
    overlay: "ranks",
    looks: "none",
  };
}

function cropStep({ scene, looks }) {
  const deeper = scene.levels > 2 ? ", and the same again inside each" : "";
  return {
    title: "Crops",
    sentence:
      `It cuts the best ${looks.length > 1 ? `${looks.length} cells` : "cell"} out of the picture and looks at ` +
      `${looks.length > 1 ? "each" : "it"} at ${scene.base} × ${scene.base} pixels${deeper}.`,
    formula: firstRows(
      looks,
      at => {
        const [x0, y0, x1, y1] = scene.looks[at].native;
        const size = `${x1 - x0} × ${y1 - y0} px → ${scene.base} × ${scene.base} px`;
        return term(`${calledRow(scene, at + 1)}: ${size}, choice ${scene.looks[at].rank} of its grid`);
      },
      rest => term(`and ${formatCount(rest.length, "look", "looks")} more`),
    ),
    marks: ".tn-crops",
    overlay: null,
    looks: "own",
  };
}

function weightStep({ scene, looks, weights }) {
  const rows = rowsOf(looks).map((row, i) => ({ name: calledRow(scene, row), weight: weights[i] }));
  const heaviest = rows.reduce((most, row) => (row.weight > most.weight ? row : most));
  return {
    title: "Weights",
    sentence: scene.uniform
      ? `Thumbnail and looks count alike: each of the ${rows.length} has the weight ${short(weights[0])}.`
      : `Each gets a weight, and all weights sum to 1: most counts ${heaviest.name}, with ${short(heaviest.weight)}.`,
    formula: [
      ...firstRows(
        rows,
        row => term(`${row.name}: ${short(row.weight)}`, row.weight),
        rest => {
          const sum = rest.reduce((total, row) => total + row.weight, 0);
          return term(`${formatCount(rest.length, "look", "looks")} more: ${short(sum)}`, sum);
        },
      ),
      term("sum of all = 1"),
    ],
    marks: ".tn-ledger",
    overlay: null,
    looks: "own",
  };
}

function sumStep({ scene, looks, weights, shares, cls, versus, share }) {
  const name = versus === null ? scene.classes[cls] : `${scene.classes[cls]} against ${scene.classes[versus]}`;
  const rows = rowsOf(looks).map((row, i) => ({
    name: calledRow(scene, row),
    weight: weights[i],
    value: shares.values[i],
  }));
  const calibrated = scene.temperature ? ` of logits divided by ${short(scene.temperature)}` : "";
  const own = percent(share[cls]);
  const probabilities = versus === null ? `, which is ${own}` : `: ${own} to ${percent(share[versus])}`;
  return {
    title: "Sum",
    sentence:
      `Weight times score, added up over thumbnail, looks and bias: ${formatFixed(shares.total)} for ${name}` +
      `${probabilities}. Nothing else decides.`,
    formula: [
      ...firstRows(
        rows,
        ({ name: row, weight, value }) =>
          term(`${row}: ${short(weight)} × ${short(value / weight)} = ${formatSigned(value)}`, value),
        rest => {
          const sum = rest.reduce((total, row) => total + row.value, 0);
          return term(`${formatCount(rest.length, "look", "looks")} more: ${formatSigned(sum)}`, sum);
        },
      ),
      term(`bias: ${formatSignedFixed(shares.bias)}`, shares.bias),
      term(`sum = ${versus === null ? "logit" : "lead"} ${formatFixed(shares.total)}`, shares.total),
      ...(versus === null ? [term(`softmax${calibrated}: probability ${percent(share[cls])}`, share[cls])] : []),
    ],
    marks: ".tn-ledger",
    overlay: null,
    looks: "own",
  };
}

const WRITERS = [thumbnailStep, gridStep, scoreStep, cropStep, weightStep, sumStep];
const NAMES = ["Thumbnail", "Grid", "Scores", "Crops", "Weights", "Sum"];
export const STEPS = WRITERS.length;

// `number` counts from 1. A network without looks has only the first step and the last.
export function writeStep(number, view) {
  if (number > 1 && number < STEPS && !view.scene.looks.length)
    return {
      title: NAMES[number - 1],
      sentence: "This checkpoint takes no looks: it sees the whole picture once. Choose another to see this step.",
      formula: [],
      marks: ".tn-picture",
      overlay: null,
      looks: "none",
    };
  return WRITERS[number - 1](view);
}

// Words of the page, as docs/architecture.md explains them.
export const WORDS = [
  ["look", "a crop that the network chose, and its feature vector"],
  ["context", "the thumbnail of the whole picture, seen first; not counted among the looks"],
  ["level", "1 is the context, 2 are looks at the picture, 3 are looks inside looks"],
  ["cell", "one of the overlapping regions of a grid, from which looks are chosen"],
  ["lift", "a cell's probability divided by that of chance"],
  ["budget", "how many looks are taken in each grid"],
  ["weight", "how much a look counts in the average of feature vectors"],
  ["share", "a look's exact part of a class's logit; with the bias, shares add up to it"],
];
