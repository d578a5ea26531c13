// Which pixels looks are cut from: the words come with the scene, a choice asks the server for the same picture again.

function radios(name, legend, choices, chosen) {
  if (choices.length < 2) return "";
  const labels = choices.map(([value, text]) =>
    `<label><input type="radio" name="tn-${name}" value="${escaped(value)}"${value === chosen ? " checked" : ""}><span>${escaped(text)}</span></label>`);
  return `<fieldset data-cut="${name}"><legend>${legend}</legend><div>${labels.join("")}</div></fieldset>`;
}

// `host` may be able to `sample` anew; a page that cannot, such as a report, says only how it was done.
function buildCut(stage, scene, host) {
  const place = stage.querySelector(".tn-cut"), form = place.querySelector("form"), { cut } = scene;
  place.hidden = !cut;
  if (!cut) return;
  const asks = Boolean(host.sample);
  form.innerHTML = asks ? radios("frame", "Looks are cut from", cut.frames, cut.frame) + radios("depth", "Levels", cut.depths, cut.levels ?? "trained") : "";
  place.querySelector("p").textContent = cut.sentence;
  form.removeAttribute("aria-busy");
  form.onsubmit = event => event.preventDefault();
  form.onclick = event => { if (form.hasAttribute("aria-busy")) event.preventDefault(); }; // one question at a time; keys click too
  form.onchange = () => {
    const chosen = name => form.querySelector(`[data-cut="${name}"] input:checked`)?.value ?? null;
    const sampling = chosen("frame"), levels = sampling !== "official" && chosen("depth") === "auto" ? "auto" : null;
    form.setAttribute("aria-busy", "true");
    host.sample({ sampling, levels, scene: scene.scene });
  };
}
