// The sentence of the moment. Of a step: what was believed before the newest look, what is believed now, and how much
// that moved. Of a page that comes, ends or jumps: what the thumbnail said, and what came of all looks.

import { logitsOf, probabilitiesOf, topClasses } from "../core/scene.js";
import { formatCount, percent, formatSigned } from "../core/text.js";
import { build } from "../ui/dom.js";

const NO_CHANGE = 0.1; // points: less is none

// Parts of the sentence: texts, and what is drawn bold or as the mark of the look.
function writeMoment({ scene, state, share, before, looks, newest, order }) {
  const [now] = order;
  const describeClass = cls => `${scene.classes[cls]} ${percent(share[cls])}`;
  if (before !== null && !state.isStep) {
    const first = probabilitiesOf(scene, logitsOf(scene, []));
    const [origin] = topClasses(first, 1);
    return [
      `From the thumbnail: ${scene.classes[origin]} ${percent(first[origin])}. `,
      `After ${state.manual ? "your " : ""}${formatCount(looks.length, "look", "looks")}: `,
      origin === now ? "still " : "",
      bold(describeClass(now)),
      ".",
    ];
  }
  if (before === null)
    return [scene.looks.length ? "From the thumbnail: " : "From the whole picture: ", bold(describeClass(now)), "."];
  const [then] = topClasses(before, 1);
  const origin = looks.length > 1 ? `After ${formatCount(looks.length - 1, "look", "looks")}` : "From the thumbnail";
  const points = 100 * (share[now] - before[now]);
  const gain = Math.abs(points) < NO_CHANGE ? "no change" : `${formatSigned(points)} points`;
  return [
    `${origin}: ${scene.classes[then]} ${percent(before[then])}. `,
    state.manual ? "You look here: " : "It looks here: ",
    build("i", {}, scene.looks[newest].name),
    now === then ? ". Still " : ". Now ",
    bold(describeClass(now)),
    `, ${gain}.`,
  ];
}

const bold = text => build("b", {}, text);

export function drawMoment(stage, view) {
  stage.querySelector(".tn-moment").replaceChildren(...writeMoment(view));
  const unlike = stage.querySelector(".tn-unlike"); // whether the picture may be none of those the checkpoint knows
  unlike.hidden = !view.scene.unlike;
  unlike.textContent = view.scene.unlike ?? "";
}
