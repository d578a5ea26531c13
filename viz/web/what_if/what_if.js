// Two pictures under one number of looks; the look in focus is marked on both sides. The server is asked only where a
// part of the picture is dropped.

import { formatCount } from "../core/text.js";
import { noteSettings, takeLinked } from "../ui/address.js";
import { mountDrag } from "./drag.js";

export function mountWhatIf(element, host) {
  const linked = Number(takeLinked("what-if")?.["what-if-looks"]);
  let chosenLooks = Number.isInteger(linked) && linked > 0 ? linked : null;
  let focus = 0;
  const all = selector => [...element.querySelectorAll(selector)];

  function draw() {
    const slider = element.querySelector(".what-if-k input");
    if (!slider) return;
    const most = Number(slider.max);
    const k = Math.min(most, chosenLooks ?? Number(slider.value));
    slider.value = k;
    slider.style.setProperty("--at", `${most > 1 ? (100 * (k - 1)) / (most - 1) : 100}%`);
    slider.nextElementSibling.textContent = `${k} of ${most}`;
    slider.setAttribute("aria-valuetext", `${k} of ${formatCount(most, "look", "looks")}`);
    slider.closest(".what-if").dataset.looks = k;
    const { settings } = slider.closest(".what-if").dataset;
    noteSettings("what-if", [
      ...new URLSearchParams(settings),
      ...(chosenLooks === null ? [] : [["what-if-looks", k]]),
    ]);
    const marked = Math.min(focus, k - 1);
    for (const block of all("[data-k]")) block.hidden = Number(block.dataset.k) !== k;
    for (const box of all(".tn-box")) box.hidden = Number(box.dataset.rank) >= k;
    for (const box of all(".what-if-before .tn-box"))
      box.classList.toggle("tn-focus", Number(box.dataset.rank) === marked);
    for (const box of all("[data-of]")) box.hidden = Number(box.dataset.of) !== marked;
    for (const button of all("[data-look]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.look) === marked);
      button.closest("tr").classList.toggle("what-if-chosen", Number(button.dataset.look) === marked);
    }
  }

  function choose(event) {
    const row = event.target.closest("tbody tr");
    const button = row && row.querySelector("[data-look]");
    if (button && Number(button.dataset.look) !== focus) {
      focus = Number(button.dataset.look);
      draw();
    }
  }

  element.addEventListener("input", event => {
    if (event.target.matches(".what-if-k input")) {
      chosenLooks = Number(event.target.value);
      draw();
    }
  });
  element.addEventListener("click", choose);
  element.addEventListener("focusin", choose);
  element.addEventListener("mouseover", choose);
  const settle = mountDrag(element);
  host.watch("value", () => {
    draw();
    settle();
  });
  draw();
}
