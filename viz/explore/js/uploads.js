"use strict";
// Pasted, dropped and photographed pictures are given to the upload button, so that one set of limits holds for all.
window.TNetBring = (() => {
  const input = () => document.querySelector("#explore-upload input[type=file], #explore-pick input[type=file]");

  function give(file) {
    const target = input();
    if (!target || !file || document.querySelector("#explore-pick")?.offsetParent === null) return false; // another tab is open
    const files = new DataTransfer();
    files.items.add(file);
    target.files = files.files;
    target.dispatchEvent(new Event("change", { bubbles: true }));
    return true;
  }

  const picture = list => [...(list ?? [])].find(file => file.type.startsWith("image/"));

  function onPaste(event) {
    if (event.target.closest?.("input, textarea, [contenteditable=true]")) return;
    if (give(picture(event.clipboardData?.files))) event.preventDefault();
  }

  function onDrop(event) {
    if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
    event.preventDefault();
    // What does not say that it is a picture is refused by the upload, with a sentence.
    if (event.type === "drop") give(picture(event.dataTransfer.files) ?? event.dataTransfer.files[0]);
  }

  function mount(element) {
    const button = element.querySelector(".tn-camera"), dialog = element.querySelector("dialog");
    const video = dialog.querySelector("video"), sentence = dialog.querySelector("p");
    const close = () => { video.srcObject?.getTracks().forEach(track => track.stop()); video.srcObject = null; dialog.close(); };
    button.hidden = !navigator.mediaDevices?.getUserMedia;
    const shutter = dialog.querySelector("[data-camera=take]");
    button.addEventListener("click", async () => {
      sentence.hidden = true;
      shutter.disabled = false;
      dialog.showModal();
      try {
        const stream = await navigator.mediaDevices.getUserMedia({ video: { width: { ideal: 1920 } } });
        if (dialog.open) video.srcObject = stream;
        else stream.getTracks().forEach(track => track.stop()); // closed while the browser asked
      } catch {
        sentence.textContent = "The camera cannot be used: allow it in the browser, or upload a picture.";
        sentence.hidden = false;
      }
    });
    dialog.addEventListener("cancel", close);
    dialog.addEventListener("click", event => {
      const what = event.target.dataset.camera;
      if (what === "close") close();
      if (what !== "take" || !video.videoWidth) return;
      shutter.disabled = true; // one click, one picture
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [video.videoWidth, video.videoHeight];
      canvas.getContext("2d").drawImage(video, 0, 0);
      canvas.toBlob(blob => { if (blob) give(new File([blob], "camera.jpg", { type: "image/jpeg" })); close(); }, "image/jpeg", 0.92);
    });
    document.addEventListener("paste", onPaste);
    for (const kind of ["dragover", "drop"]) document.addEventListener(kind, onDrop);
  }

  return { mount };
})();
