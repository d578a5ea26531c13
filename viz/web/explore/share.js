// Sends what is shown: its link is copied at once, and a card and a moving picture of the looks can be saved.

import { short } from "../core/text.js";
import { build } from "../ui/dom.js";
import { drawCard } from "./card.js";
import { addressWith } from "../ui/address.js";
import { fileName, linkOf, save } from "./link.js";

const bytes = text => Uint8Array.from(atob(text), c => c.charCodeAt(0));
const pngOf = canvas => new Promise(resolve => canvas.toBlob(resolve, "image/png"));

function buildDialog() {
  const button = (act, text) => build("button", { type: "button", "data-share": act }, text);
  const field = build("input", { readonly: true, "aria-label": "Link to this page" });
  return build(
    "dialog",
    { class: "tn-zoom tn-share", "aria-labelledby": "tn-share-title" },
    build("div", { class: "tn-zoom-head" }, build("h2", { id: "tn-share-title" }, "Share"), button("close", "Close")),
    build("div", { class: "tn-share-card" }),
    build("div", { class: "tn-share-link" }, field, button("link", "Copy link")),
    build("p", { class: "tn-share-note" }),
    build(
      "div",
      { class: "tn-share-files" },
      button("card", "Save card (PNG)"),
      button("animation", "Save animation (WebP)"),
    ),
    build("p", { role: "status" }),
  );
}

// `score` is a line for the card, or nothing.
export async function openShare(stage, look, call, score = "") {
  const view = look();
  if (!view || stage.querySelector(".tn-share")) return;
  const { scene } = view;
  const dialog = buildDialog();
  const line = dialog.querySelector("[role=status]");
  const field = dialog.querySelector("input");
  // "__sign" lets its bearer into a private Space; the theme is the visitor's own.
  const link = location.origin + addressWith(linkOf(view.state), ["__sign", "__theme", "tour"]);
  field.value = link;
  dialog.querySelector(".tn-share-note").textContent = scene.link?.example
    ? "The link opens this picture with these looks."
    : "Your picture stays with you: the link opens the page without it, only the card and the animation show it.";
  stage.append(dialog);
  dialog.showModal();
  const card = drawCard(view, link, score);

  async function copy() {
    try {
      await navigator.clipboard.writeText(link);
      line.textContent = "Link copied.";
    } catch {
      field.select();
      line.textContent = "Copy the link from the field.";
    }
  }

  const files = {
    card: async () => [await pngOf(await card), fileName(scene, "card", "png")],
    animation: async () => {
      const answer = await call("take", { what: "animation", scene: scene.scene, plan: view.looks });
      return [new Blob([bytes(answer.base64)], { type: answer.type }), fileName(scene, "looks", answer.extension)];
    },
  };

  async function saveFile(what) {
    if (dialog.hasAttribute("aria-busy")) return;
    dialog.setAttribute("aria-busy", "true");
    line.textContent = "";
    try {
      const [blob, name] = await files[what]();
      save(blob, name);
      line.textContent = `Saved ${name}, ${short(blob.size / 1e3)} kB.`;
    } catch (problem) {
      line.textContent = problem.message;
    }
    dialog.removeAttribute("aria-busy");
  }

  dialog.addEventListener("keydown", event => event.stopPropagation()); // digits and arrows belong to the field
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", event => {
    const act = event.target.closest("[data-share]")?.dataset.share;
    if (act === "close" || event.target === dialog) dialog.close();
    else if (act === "link") copy();
    else if (act) saveFile(act);
  });
  try {
    dialog.querySelector(".tn-share-card").append(await card);
  } catch (problem) {
    line.textContent = problem.message;
  }
  await copy();
}
