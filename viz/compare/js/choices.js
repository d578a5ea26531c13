// What to compare: kept in the browser, checked on the server.

const POLICIES = {
  learned: "the network's own looks", centre: "from the middle outwards", raster: "row by row", random: "at random",
  own: "your own cells", hand: "your looks in Explore",
};

function openChoices() {
  return {
    mode: "policies",
    policies: { a: { policy: "learned", seed: 0, cells: [] }, b: { policy: "centre", seed: 0, cells: [] } },
    checkpoints: { a: null, b: null },
    pictures: { a: "current", b: null },
  };
}

// The looks chosen by hand in Explore, if they are of the picture on offer.
function handMade(offer) {
  try {
    const told = JSON.parse(document.querySelector("#explore-stage .tn-stage")?.dataset.byHand || "null");
    return told?.scene === offer.scene && told.plan.length ? told.plan : null;
  } catch {
    return null;
  }
}

// Another picture or checkpoint is open in Explore: what was chosen about the last one is not meant any more.
function follow(choices, offer) {
  choices.checkpoints = { a: offer.checkpoint, b: offer.other };
  choices.pictures = { a: "current", b: offer.pictures.findIndex((_, at) => at !== offer.where) };
  if (choices.pictures.b < 0) choices.pictures.b = "current";
  for (const side of SIDES) {
    const chosen = choices.policies[side];
    chosen.cells = [];
    if (chosen.policy === "hand" || (chosen.policy === "own" && offer.levels > 2)) chosen.policy = side === "a" ? "learned" : "centre";
  }
  if (choices.mode === "checkpoints" && !offer.other) choices.mode = "policies";
}

function optionsOf(mode, offer) {
  if (mode === "checkpoints") return offer.checkpoints.map(([spec, title]) => ({ value: spec, text: title }));
  if (mode === "pictures") {
    const brought = offer.brought ? [{ value: "brought", text: `${offer.brought} (uploaded here)` }] : [];
    return [{ value: "current", text: `${offer.title} (open in Explore)` }, ...brought,
            ...offer.pictures.map((text, at) => ({ value: String(at), text })).filter(option => option.value !== String(offer.where))];
  }
  const hand = handMade(offer) !== null;
  return Object.entries(POLICIES).filter(([name]) => name !== "own" || offer.levels === 2)
    .map(([value, text]) => ({ value, text: value === "hand" && !hand ? `${text} (choose some there first)` : text, disabled: value === "hand" && !hand }));
}

function drawChoices(root, choices, offer) {
  const { mode } = choices;
  for (const radio of root.querySelectorAll("[name=compare-mode]")) {
    radio.checked = radio.value === mode;
    radio.disabled = radio.value === "checkpoints" && !offer.other;
    radio.parentElement.title = radio.disabled ? "There is only one checkpoint here." : "";
  }
  for (const side of SIDES) {
    const place = root.querySelector(`.compare-side[data-side="${side}"]`), select = place.querySelector("select");
    select.innerHTML = optionsOf(mode, offer).map(({ value, text, disabled }) => `<option value="${escaped(value)}"${disabled ? " disabled" : ""}>${escaped(text)}</option>`).join("");
    const chosen = choices[mode][side];
    select.value = mode === "policies" ? chosen.policy : String(chosen);
    place.querySelector(".compare-seed").hidden = mode !== "policies" || chosen.policy !== "random";
    place.querySelector(".compare-clear").hidden = mode !== "policies" || chosen.policy !== "own" || !chosen.cells.length;
  }
  root.querySelector(".compare-upload").hidden = mode !== "pictures";
  const mine = mode === "policies" && SIDES.filter(side => choices.policies[side].policy === "own").map(side => side.toUpperCase());
  const hint = root.querySelector(".compare-hint");
  hint.hidden = !mine || !mine.length;
  if (!hint.hidden) hint.textContent = `Click cells of picture ${mine.join(" or ")} to look there, in the order you want; click again to remove a look.`;
}

// A side as the server takes it.
function wished(choices, offer, side) {
  const chosen = choices[choices.mode][side];
  if (choices.mode === "checkpoints") return { checkpoint: chosen };
  if (choices.mode === "pictures") return { picture: chosen };
  if (chosen.policy === "random") return { policy: "random", seed: chosen.seed };
  if (chosen.policy === "own") return { policy: "own", cells: chosen.cells };
  if (chosen.policy === "hand") return { policy: "hand", plan: handMade(offer) };
  return { policy: chosen.policy };
}

function choose(choices, side, value) {
  const { mode } = choices;
  if (mode === "policies") choices.policies[side].policy = value;
  else choices[mode][side] = mode === "pictures" && /^\d+$/.test(value) ? Number(value) : value;
}

const ownCells = (choices, side) => choices.mode === "policies" && choices.policies[side].policy === "own" ? choices.policies[side].cells : null;
