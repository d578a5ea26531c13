// Playing: one look after another, by a click or once on arrival.

import { namesLink } from "./link.js";

const STEP_MS = 700;
const ARRIVAL_MS = 1600; // there is a sentence to read at every step
const INTERACTIONS = ["pointerdown", "keydown", "wheel", "touchstart", "input"];

// Whether a visitor has just arrived, sees the stage and has not chosen a state by a link; once per page.
export function mayArrive(stage, host) {
  return (
    !host.isAlone &&
    stage.offsetParent !== null &&
    !namesLink() &&
    !new URLSearchParams(location.search).has("tour") &&
    !matchMedia("(prefers-reduced-motion: reduce)").matches
  );
}

// `advance` shows the next look and tells whether there is another one; `onEnd` is called when an arrival was ended.
export function createPlayback(stage, advance, onEnd) {
  let timer = null;
  let isArriving = false;

  function pause() {
    clearInterval(timer);
    timer = null;
    isArriving = false;
    for (const kind of INTERACTIONS) document.removeEventListener(kind, interrupt, true);
  }

  function interrupt() {
    pause();
    onEnd();
  }

  function start(interval) {
    pause();
    timer = setInterval(() => {
      if (!stage.isConnected) pause();
      else advance();
    }, interval);
  }

  function arrive() {
    start(ARRIVAL_MS);
    isArriving = true;
    for (const kind of INTERACTIONS) document.addEventListener(kind, interrupt, { capture: true, passive: true });
  }

  return {
    pause,
    arrive,
    play: () => start(STEP_MS),
    isPlaying: () => timer !== null,
    isArriving: () => isArriving,
  };
}
