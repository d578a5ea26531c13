// The crops, exactly as the network saw them.

function buildLooks(stage, scene) {
  const rows = [-1, ...scene.looks.keys()];
  stage.querySelector(".tn-looks").replaceChildren(...rows.map(at => {
    const item = document.createElement("li");
    item.className = "tn-look";
    item.dataset.row = at + 1;
    const name = calledRow(scene, at + 1), own = alone(scene, at + 1);
    const level = at < 0 ? "the whole picture" : scene.levels > 2 ? `level ${scene.looks[at].level}` : `${ordinal(scene.looks[at].rank)} choice`;
    const zooms = stage.classList.contains("tn-zooms"), saw = `<img src="${at < 0 ? scene.thumbnail : scene.looks[at].crop}" alt="What ${escaped(name)} saw">`;
    if (at >= 0) { item.dataset.look = at; if (!zooms) item.tabIndex = 0; }
    item.innerHTML = (zooms ? `<button type="button" data-zoom="${at + 1}" aria-label="${escaped(name)} at native pixels" title="See the picture here at native pixels">${saw}</button>` : saw) + `<b>${escaped(name)}</b>` +
      `<small>${level}</small><i></i><small class="tn-weight"></small>` +
      `<small class="tn-alone">alone: ${escaped(scene.classes[own.cls])} <span>${percent(own.share)}</span></small>`;
    return item;
  }));
}

function drawLooks(stage, view) {
  const list = stage.querySelector(".tn-looks"), at = new Map([[0, 0], ...view.looks.map((look, i) => [look + 1, i + 1])]);
  for (const item of list.children) {
    const row = Number(item.dataset.row), i = at.get(row);
    item.hidden = i === undefined;
    if (item.hidden) continue;
    item.style.order = i; // looks added by hand come last, whatever their position
    item.classList.toggle("tn-newest", row > 0 && row - 1 === view.newest);
    const value = view.shares.values[i], share = item.querySelector("i");
    share.className = value >= 0 ? "tn-for" : "tn-against";
    share.textContent = signed(value);
    item.querySelector(".tn-weight").textContent = `weight ${short(view.weights[i])}`;
  }
}
