// What runs in a report: the stage with the scene that the file holds.

import { mountStage } from "../explore/stage.js";

const ONLY_THE_APP = "This file holds no weights for that set of looks: only the app can compute them.";

export function openReport() {
  const sent = document.getElementById("tn-scene").textContent;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const follow = () => document.documentElement.classList.toggle("dark", dark.matches);
  follow();
  dark.addEventListener("change", follow);
  const page = document.querySelector("main");
  const { threshold, tint } = JSON.parse(sent).restore;
  mountStage(page, {
    value: () => sent,
    watch: () => {},
    isAlone: true,
    call: () => Promise.reject(new Error(ONLY_THE_APP)),
  });
  const set = (selector, change) => {
    const control = page.querySelector(selector);
    change(control);
    control.dispatchEvent(new Event("change"));
  };
  set(".tn-threshold select", control => {
    control.value = String(threshold);
  });
  set(".tn-spot input", control => {
    control.checked = tint;
  });
}

if (document.getElementById("tn-scene")) openReport();
