// Two pictures under one number of looks; the look in focus is marked on both sides. Nothing is asked of the server.

function whatIf(element, watch) {
  let wanted = null, focus = 0;
  const all = selector => [...element.querySelectorAll(selector)];

  function draw() {
    const slider = element.querySelector(".what-if-k input");
    if (!slider) return;
    const most = Number(slider.max), k = Math.min(most, wanted ?? Number(slider.value));
    slider.value = k;
    slider.style.setProperty("--at", `${most > 1 ? 100 * (k - 1) / (most - 1) : 100}%`);
    slider.nextElementSibling.textContent = `${k} of ${most}`;
    slider.closest(".what-if").dataset.looks = k;
    const marked = Math.min(focus, k - 1);
    for (const block of all("[data-k]")) block.hidden = Number(block.dataset.k) !== k;
    for (const box of all(".tn-box")) box.hidden = Number(box.dataset.rank) >= k;
    for (const box of all(".what-if-before .tn-box")) box.classList.toggle("tn-focus", Number(box.dataset.rank) === marked);
    for (const box of all("[data-of]")) box.hidden = Number(box.dataset.of) !== marked;
    for (const button of all("[data-look]")) {
      button.setAttribute("aria-pressed", Number(button.dataset.look) === marked);
      button.closest("tr").classList.toggle("what-if-chosen", Number(button.dataset.look) === marked);
    }
  }

  function choose(event) {
    const row = event.target.closest("tbody tr"), button = row && row.querySelector("[data-look]");
    if (button && Number(button.dataset.look) !== focus) { focus = Number(button.dataset.look); draw(); }
  }

  element.addEventListener("input", event => {
    if (event.target.matches(".what-if-k input")) { wanted = Number(event.target.value); draw(); }
  });
  element.addEventListener("click", choose);
  element.addEventListener("focusin", choose);
  element.addEventListener("mouseover", choose);
  watch("value", draw);
  draw();
}
