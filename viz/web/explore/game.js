// Beat the network: the visitor chooses as many cells of the picture as the network may; then both answers are
// compared. Both are exact: the same formula over the features of the looks that each of them chose. Nothing is
// stored.

import { canShow, gridOf, logitsOf, probabilitiesOf, topClasses, withinBudget } from "../core/scene.js";
import { formatCount, percent } from "../core/text.js";
import { build } from "../ui/dom.js";
import { place } from "../ui/picture.js";

const CLOSE = 0.0005; // of a probability: less is no difference on the page

// How many cells of the picture's own grid the network takes; deeper looks are left out for both.
export const cellsToChoose = scene => scene.shown[0] ?? 0;

export function ownLooks(scene) {
  const budget = scene.most.map((_, level) => (level === 0 ? cellsToChoose(scene) : 0));
  return withinBudget(scene, budget);
}

function answerOf(scene, looks) {
  const share = probabilitiesOf(scene, logitsOf(scene, looks));
  const [cls] = topClasses(share, 1);
  return { cls, share };
}

// What is compared is said: the probability of the right class where that is known, else how sure each answer is.
export function compareAnswers(scene, mine, theirs) {
  const [you, network] = [answerOf(scene, mine), answerOf(scene, theirs)];
  const known = scene.label !== null && scene.label !== undefined;
  const worth = answer => answer.share[known ? scene.label : answer.cls];
  const gain = worth(you) - worth(network);
  const verdict = Math.abs(gain) < CLOSE ? "Level" : gain > 0 ? "You beat the network" : "The network beats you";
  const describeAnswer = answer => `${scene.classes[answer.cls]} ${percent(answer.share[answer.cls])}`;
  const right = known ? `${scene.classes[scene.label]} is right, and` : "What is right is not known here:";
  const what = known
    ? `gets ${percent(worth(you))} from your cells and ${percent(worth(network))} from the network's`
    : "compared is how sure each answer is";
  const shared = mine.filter(look => theirs.includes(look)).length;
  return {
    verdict,
    you: `Your ${formatCount(mine.length, "cell", "cells")}: ${describeAnswer(you)}.`,
    network: `The network's: ${describeAnswer(network)}.`,
    compared: `${right} ${what}. You chose ${shared} of its ${theirs.length}.`,
    score: `${verdict}: ${percent(worth(you))} against ${percent(worth(network))}`,
  };
}

function buildPanel() {
  const button = (act, text) => build("button", { type: "button", "data-game": act }, text);
  return build(
    "section",
    { class: "tn-game", "aria-labelledby": "tn-game-title" },
    build(
      "div",
      { class: "tn-game-head" },
      build("h2", { id: "tn-game-title" }, "Beat the network"),
      button("close", "Close"),
    ),
    build("p", { class: "tn-game-told", role: "status" }),
    build("ul", { class: "tn-game-answers", hidden: true }),
    build(
      "div",
      { class: "tn-game-foot" },
      button("show", "Show both answers"),
      button("again", "Again"),
      button("share", "Share"),
    ),
  );
}

// A button over every cell, where the picture's own cells are.
function buildCells(stage, scene) {
  const cells = [...stage.querySelectorAll(".tn-tint > [data-cell]")].map((cell, index) => {
    const where = `row ${Math.floor(index / scene.grid) + 1}, column ${(index % scene.grid) + 1}`;
    const made = build("button", { type: "button", "data-pick": index, "aria-pressed": "false", "aria-label": where });
    const { left, top, width, height } = cell.style;
    Object.assign(made.style, { left, top, width, height });
    made.tabIndex = index ? -1 : 0;
    return made;
  });
  return build(
    "div",
    { class: "tn-game-cells", role: "group", "aria-label": "Cells of the picture; arrow keys move" },
    cells,
  );
}

// A cell is where a look is chosen; its crop is larger. Outlines of the crops of these cells.
function outlineCrops(boxes, chosen, kind) {
  return chosen.map(index => {
    const outline = build("div", { class: `tn-game-crop ${kind}` });
    place(outline, boxes[index]);
    return outline;
  });
}

// A line of the result, with the colour of whose cells it is about.
const buildAnswer = (text, kind) =>
  build("li", {}, kind ? build("i", { class: `tn-game-swatch ${kind}`, "aria-hidden": "true" }) : null, text);

let game = null; // the one that is open

export function openGame(stage, look, opener, share) {
  const view = look();
  if (!view || game) return;
  const { scene } = view;
  const most = cellsToChoose(scene);
  const panel = buildPanel();
  const cells = buildCells(stage, scene);
  const crops = build("div", { class: "tn-game-crops", "aria-hidden": "true" });
  const status = panel.querySelector(".tn-game-told");
  const answers = panel.querySelector(".tn-game-answers");
  const part = act => panel.querySelector(`[data-game="${act}"]`);
  const grid = gridOf(scene, null);
  let chosen = [];
  let isOver = false;
  let theirCells = [];

  function draw() {
    for (const cell of cells.children) {
      const index = Number(cell.dataset.pick);
      cell.setAttribute("aria-pressed", chosen.includes(index));
      cell.textContent = chosen.includes(index) ? chosen.indexOf(index) + 1 : "";
    }
    crops.replaceChildren(
      ...outlineCrops(grid.boxes, theirCells, "tn-game-theirs"),
      ...outlineCrops(grid.boxes, chosen, "tn-game-mine"),
    );
    part("show").hidden = isOver;
    part("show").disabled = chosen.length !== most;
    part("again").hidden = part("share").hidden = !isOver;
    if (isOver) return;
    const left = most - chosen.length;
    status.textContent = left
      ? `The network may look at ${formatCount(most, "cell", "cells")}. Which would you choose? ${left} to go.`
      : "All chosen. Choose one again to take it back.";
  }

  function pick(index) {
    if (isOver) return;
    if (chosen.includes(index)) chosen = chosen.filter(other => other !== index);
    else if (chosen.length < most) chosen = [...chosen, index];
    draw();
  }

  async function reveal() {
    part("show").disabled = true;
    status.textContent = "Looking at your cells…";
    const theirs = ownLooks(scene);
    // The page knows what the network takes altogether; of a deep picture, not what its first level takes alone.
    if (!canShow(scene, theirs)) await look.takeCells(theirs.map(at => scene.looks[at].index));
    const mine = await look.takeCells(chosen);
    if (!game) return;
    if (mine === null || !canShow(scene, theirs)) {
      status.textContent = "Your cells could not be looked at: try again.";
      part("show").disabled = false;
      return;
    }
    isOver = true;
    const result = compareAnswers(scene, mine, theirs);
    status.textContent = `${result.verdict}.`;
    answers.replaceChildren(
      buildAnswer(result.you, "tn-game-mine"),
      buildAnswer(result.network, "tn-game-theirs"),
      buildAnswer(result.compared),
    );
    theirCells = theirs.map(at => scene.looks[at].index);
    answers.hidden = false;
    Object.assign(stage.dataset, { score: result.score, scoreOf: scene.scene });
    for (const cell of cells.children) {
      const isTheirs = theirCells.includes(Number(cell.dataset.pick));
      const whose = [cell.ariaPressed === "true" && "yours", isTheirs && "the network's"].filter(Boolean).join(" and ");
      if (whose) cell.setAttribute("aria-label", `${cell.getAttribute("aria-label")}: ${whose}`);
    }
    draw();
    part("again").focus({ preventScroll: true });
    comeIntoView();
  }

  // Both the cells and the panel below them, the cells first.
  function comeIntoView() {
    for (const element of [panel, cells]) element.scrollIntoView({ block: "nearest" });
  }

  function begin() {
    chosen = [];
    theirCells = [];
    isOver = false;
    answers.hidden = true;
    for (const cell of cells.children) cell.setAttribute("aria-label", cell.getAttribute("aria-label").split(":")[0]);
    look.takeCells([]);
    draw();
    cells.children[0].focus({ preventScroll: true });
  }

  function move(event) {
    const at = Number(event.target.dataset.pick);
    const to = at + { ArrowLeft: -1, ArrowRight: 1, ArrowUp: -scene.grid, ArrowDown: scene.grid }[event.key];
    const isVertical = !event.key.startsWith("ArrowL") && !event.key.startsWith("ArrowR");
    if (!grid.boxes[to] || (!isVertical && Math.floor(to / scene.grid) !== Math.floor(at / scene.grid))) return;
    for (const cell of cells.children) cell.tabIndex = Number(cell.dataset.pick) === to ? 0 : -1;
    cells.children[to].focus();
  }

  function close() {
    if (!game) return;
    game = null;
    watcher.disconnect();
    panel.remove();
    cells.remove();
    crops.remove();
    stage.classList.remove("tn-game-on");
    if (opener?.isConnected) opener.focus({ preventScroll: true });
  }

  // Another picture ends it.
  const watcher = new MutationObserver(() => {
    if (look()?.scene !== scene) close();
  });
  cells.addEventListener("click", event => {
    const cell = event.target.closest("[data-pick]");
    event.stopPropagation();
    if (cell) pick(Number(cell.dataset.pick));
  });
  for (const element of [cells, panel])
    element.addEventListener("keydown", event => {
      if (event.key === "Escape") close();
      if (event.key.startsWith("Arrow") && element === cells) {
        move(event);
        event.preventDefault();
      }
      event.stopPropagation(); // the stage's own keys would step through the network's looks
    });
  panel.addEventListener("click", event => {
    const act = event.target.closest("[data-game]")?.dataset.game;
    if (act === "close") close();
    if (act === "show") reveal();
    if (act === "again") begin();
    if (act === "share") share();
  });
  game = { close };
  stage.classList.add("tn-game-on");
  const transport = stage.querySelector(".tn-transport");
  transport.before(panel);
  stage.querySelector(".tn-frame").append(crops, cells);
  watcher.observe(stage.querySelector(".tn-photo"), { attributes: true, attributeFilter: ["src"] });
  begin();
  comeIntoView();
}
