// The audit of a checkpoint: heat maps under a slider and a choice of class, and a table of classes to sort and search.

function audit(element, watch) {
  const find = selector => element.querySelector(selector);
  let sent = null, looks = 1, chosen = null, sorted = { key: null, down: false };

  // Of single classes only some numbers of looks were counted: the nearest, the smaller of two.
  function counted(taken, wanted) {
    const known = Object.keys(taken).map(Number).sort((a, b) => a - b);
    return known.length ? known.reduce((best, k) => Math.abs(k - wanted) < Math.abs(best - wanted) ? k : best) : null;
  }

  function drawMap(name, values, write, opacity, sentence) {
    const figure = find(`[data-shows=${name}]`), cells = figure.querySelector(".audit-cells"), none = figure.querySelector(".audit-missing");
    cells.hidden = values === null;
    none.hidden = values !== null;
    none.textContent = sentence;
    if (values === null) return;
    [...cells.children].forEach((cell, i) => {
      cell.firstChild.textContent = write(values[i]);
      cell.dataset.value = values[i];
      cell.style.setProperty("--a", opacity(values[i]).toFixed(3));
    });
  }

  function draw() {
    const where = chosen === null ? sent.all : sent.classes[chosen], k = counted(where.taken, looks);
    const shares = k === null ? null : where.taken[k].map(count => count / where.images);
    const most = shares ? Math.max(...shares, 1e-9) : 1, [low, high] = sent.bounds;
    drawMap("taken", shares, percent, share => share / most, "Looks were not counted here.");
    drawMap("lift", where.lift, times, lift => Math.min(1, Math.max(0, (lift - low) / (high - low))), "There are no location probabilities here.");
    const whom = chosen === null ? "All classes" : chosen, images = where.images === 1 ? "1 image" : `${where.images} images`;
    const shown = k === null ? "" : `, the first ${k === 1 ? "look" : `${k} looks`}: uniform looks would take each cell in ${percent(k / shares.length)}`;
    const other = k === null || k === looks ? "" : ` Of single classes, ${looks} looks were not counted; shown is the nearest number.`;
    find(".audit-said").textContent = `${whom}, ${images}${shown}.${other}`;
    const slider = find("[data-map-looks]"), bias = find("[data-map-bias]");
    if (slider) {
      slider.value = looks;
      slider.style.setProperty("--at", `${slider.max > 1 ? 100 * (looks - 1) / (slider.max - 1) : 100}%`);
      slider.nextElementSibling.textContent = looks;
    }
    if (bias) bias.textContent = looks in sent.bias ? short(sent.bias[looks]) : "not stated";
  }

  function show() {
    const board = find("[data-map]");
    sent = board ? JSON.parse(board.dataset.map) : null;
    chosen = null;
    sorted = { key: null, down: false };
    if (sent) { looks = sent.start; draw(); }
  }

  function choose(name) {
    chosen = sent && Object.hasOwn(sent.classes, name) ? name : null;
    if (sent) draw();
  }

  // The table ------------------------------------------------------------------------------------

  const rows = () => [...element.querySelectorAll(".audit-byclass tbody tr")];

  function filter() {
    const table = find(".audit-byclass"), word = find("[data-find]").value.trim().toLowerCase(), more = find("[data-more]");
    const few = word || !more || more.hidden ? Infinity : Number(table.dataset.few);
    let shown = 0;
    for (const row of rows()) {
      const fits = row.dataset.name.toLowerCase().includes(word);
      row.hidden = !fits || shown >= few;
      shown += !row.hidden;
    }
    find("[data-nothing]").hidden = shown > 0;
  }

  function sort(button) {
    const key = button.dataset.sort, down = sorted.key === key ? !sorted.down : key !== "name";
    sorted = { key, down };
    const value = row => key === "name" ? row.dataset.name : key in row.dataset ? Number(row.dataset[key]) : NaN;
    const order = (a, b) => typeof a === "string" ? a.localeCompare(b) : a - b;
    const list = rows();
    // What is not known stands last, whichever way.
    list.sort((a, b) => { const x = value(a), y = value(b); return (x !== x) - (y !== y) || (down ? order(y, x) : order(x, y)) || 0; });
    list[0].parentNode.append(...list);
    for (const head of element.querySelectorAll(".audit-byclass thead th")) head.removeAttribute("aria-sort");
    button.closest("th").setAttribute("aria-sort", down ? "descending" : "ascending");
    filter();
  }

  element.addEventListener("input", event => {
    if (event.target.matches("[data-map-looks]")) { looks = Number(event.target.value); draw(); }
    if (event.target.matches("[data-map-class]")) choose(event.target.value);
    if (event.target.matches("[data-find]")) filter();
  });
  element.addEventListener("click", event => {
    const button = event.target.closest("button");
    if (!button) return;
    if (button.matches("[data-sort]")) sort(button);
    if (button.matches("[data-more]")) { button.hidden = true; filter(); }
    if (button.matches("[data-choose]")) {
      const field = find("[data-map-class]");
      field.value = button.closest("tr").dataset.name;
      choose(field.value);
      find("[data-panel=where]").scrollIntoView({ block: "start" });
      field.focus({ preventScroll: true });
    }
  });
  watch("value", show);
  show();
}
