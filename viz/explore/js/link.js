// The address of what is on the page: checkpoint, example, looks, classes. Pixels are never in it.

const LINKED = ["checkpoint", "example", "sampling", "levels", "looks", "class", "against", "cells", "step"]; // as pages/explore/links.py reads them
const WRITE_MS = 400; // browsers refuse an address that changes too often
const COPIED_MS = 2500;

const pathOf = (scene, look) => look === null ? [] : [...pathOf(scene, scene.looks[look].parent), scene.looks[look].index];

// Names and values, made of letters, digits and ".,-_" alone. Looks by hand belong to a picture that the link can name.
function linkOf(state) {
  const { scene, plan, step } = state, { checkpoint, example } = scene.link, pairs = [];
  if (checkpoint) pairs.push(["checkpoint", checkpoint]);
  if (example) pairs.push(["example", example]);
  for (const name of ["sampling", "levels"]) if (example && scene.cut?.[name]) pairs.push([name, scene.cut[name]]);
  if (example || !scene.cut?.levels) pairs.push(["looks", state.budget.join(",")]); // another picture may not be as deep
  if (state.cls !== null) pairs.push(["class", state.cls]);
  if (state.versus !== null) pairs.push(["against", state.versus]);
  if (example && state.manual) pairs.push(["cells", plan.map(look => pathOf(scene, look).join(".")).join(",") || "none"]);
  if (example && step < plan.length && (state.manual || scene.levels > 2)) pairs.push(["step", step]);
  return pairs.map(pair => pair.join("=")).join("&");
}

// This page's address with another link in it; parameters of others stay.
function addressWith(link, drop = []) {
  const others = new URLSearchParams(location.search);
  for (const name of [...LINKED, ...drop]) others.delete(name);
  const query = [others.toString(), link].filter(Boolean).join("&");
  return location.pathname + (query ? `?${query}` : "") + location.hash;
}

// Keeps the address bar up to date. The page as it is without a link keeps its short address.
function openAddress(stage) {
  let timer = null, plain = null, wanted = null;
  const write = () => {
    timer = null;
    if (!stage.isConnected || stage.offsetParent === null) return; // another tab is shown, or none any more
    const address = addressWith(wanted === plain ? "" : wanted);
    if (address !== location.pathname + location.search + location.hash) history.replaceState(history.state, "", address);
  };
  return state => {
    if (!state.scene.link) return; // a page of its own, such as a report
    wanted = linkOf(state);
    if (plain === null) plain = LINKED.some(name => new URLSearchParams(location.search).has(name)) ? "" : wanted;
    timer ??= setTimeout(write, WRITE_MS);
  };
}

function drawLink(stage, view) {
  const place = stage.querySelector(".tn-link"), { link } = view.scene;
  place.hidden = !link;
  if (place.hidden || place.dataset.said) return;
  place.querySelector("button").textContent = link.example ? "Copy link" : "Copy link, without your picture";
}

// A browser without a clipboard, or one that does not allow it, gets the text to copy.
async function copyLink(stage, state) {
  const place = stage.querySelector(".tn-link"), button = place.querySelector("button"), field = place.querySelector("input");
  const link = location.origin + addressWith(linkOf(state), ["__sign"]); // that one lets its bearer into a private Space
  let said = "Copied";
  try {
    await navigator.clipboard.writeText(link);
    field.hidden = true;
  } catch {
    said = "Copy it from here";
    field.hidden = false;
    field.value = link;
    field.select();
  }
  place.dataset.said = button.textContent = said;
  setTimeout(() => { delete place.dataset.said; drawLink(stage, { scene: state.scene }); }, COPIED_MS);
}
