// Gradio's sliders say a bare number to screen readers; this adds what is counted, now and with every new value.

// `write` makes the words from the input. Gradio moves a slider by its style, whoever set the value.
export function describeSlider(place, selector, write) {
  const update = () => {
    const input = place.querySelector(`${selector} input[type=range]`);
    if (!input) return; // not there yet
    const words = write(input);
    if (input.getAttribute("aria-valuetext") !== words) input.setAttribute("aria-valuetext", words);
  };
  new MutationObserver(update).observe(place, { subtree: true, childList: true, attributeFilter: ["style", "max"] });
  update();
}
