// Failures of an evaluation: one filter at a time, by cause or by a cell of the confusion matrix; a click opens one.

import { formatCount } from "../core/text.js";
import { describeSlider } from "../ui/slider.js";

export function mountFailures(element, host) {
  let filter = { show: "all" };

  const fits = ({ label, prediction, cause, doubtful }) => {
    if (filter.show === "all") return true;
    if (filter.show === "pair") return label === filter.label && prediction === filter.prediction;
    return filter.show === "doubtful" ? doubtful !== undefined : cause === filter.show;
  };

  function draw() {
    const items = [...element.querySelectorAll(".your-data-gallery li")];
    if (!items.length) return;
    for (const item of items) item.hidden = !fits(item.dataset);
    for (const button of element.querySelectorAll("[data-show]"))
      button.setAttribute("aria-pressed", button.dataset.show === filter.show);
    for (const cell of element.querySelectorAll("[data-pair]"))
      cell.setAttribute(
        "aria-pressed",
        filter.show === "pair" && cell.dataset.pair === filter.label && cell.dataset.with === filter.prediction,
      );
    const visible = items.filter(item => !item.hidden).length;
    const cell = element.querySelector("[data-pair][aria-pressed=true]");
    const what = cell ? `: ${cell.getAttribute("aria-label")}` : "";
    element.querySelector("[data-shown]").textContent = `${formatCount(visible, "failure", "failures")} shown${what}.`;
  }

  element.addEventListener("click", event => {
    const { show, pair, with: other, open } = event.target.closest("button")?.dataset ?? {};
    if (open !== undefined) {
      host.click({ open: Number(open) });
      return;
    }
    if (show) filter = { show };
    else if (pair) {
      const isChosen = filter.show === "pair" && filter.label === pair && filter.prediction === other;
      filter = isChosen ? { show: "all" } : { show: "pair", label: pair, prediction: other };
    } else return;
    draw();
    // Below the gallery, the matrix chooses what is above it.
    if (pair) element.querySelector(".your-data-filters").scrollIntoView({ block: "nearest" });
  });
  host.watch("value", () => {
    filter = { show: "all" };
    draw();
  });
  draw();
  describeSlider(
    element.closest(".your-data"),
    "#your-data-budget",
    input => `at most ${formatCount(Number(input.value), "look", "looks")}`,
  );
}
