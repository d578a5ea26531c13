// Pictures that a visitor brings or picks. Pasted, dropped and photographed ones are given to the upload button, so
// that one set of limits holds for all.

const findInput = () => document.querySelector("#explore-upload input[type=file], #explore-pick input[type=file]");

function give(file) {
  const target = findInput();
  const isElsewhere = document.querySelector("#explore-pick")?.offsetParent === null; // another tab is open
  if (!target || !file || isElsewhere) return false;
  const files = new DataTransfer();
  files.items.add(file);
  target.files = files.files;
  target.dispatchEvent(new Event("change", { bubbles: true }));
  return true;
}

const findPicture = list => [...(list ?? [])].find(file => file.type.startsWith("image/"));

function onPaste(event) {
  if (event.target.closest?.("input, textarea, [contenteditable=true]")) return;
  if (give(findPicture(event.clipboardData?.files))) event.preventDefault();
}

function onDrop(event) {
  if (![...(event.dataTransfer?.types ?? [])].includes("Files")) return;
  event.preventDefault();
  // What does not say that it is a picture is refused by the upload, with a sentence.
  if (event.type === "drop") give(findPicture(event.dataTransfer.files) ?? event.dataTransfer.files[0]);
}

// A click on an example sends its number, or "dive", the checkpoint whose examples these are, and how many clicks there
// were: requests may overtake one another.
let clicks = 0;

export function mountGallery(element, host) {
  // An answer to an earlier click may draw the gallery anew last: the example that the stage shows is marked.
  const mark = () => {
    const { shownExample } = document.querySelector("#explore-stage .tn-stage")?.dataset ?? {};
    if (shownExample === undefined) return;
    for (const button of element.querySelectorAll(".tn-example"))
      button.ariaPressed = String(button.dataset.example === shownExample);
  };
  host.watch("value", mark);
  document.addEventListener("tn-shown", mark);
  element.addEventListener("click", event => {
    const button = event.target.closest("[data-example]");
    if (!button) return;
    const { example } = button.dataset;
    const { checkpoint } = button.parentElement.dataset;
    clicks += 1;
    host.click({ example: example === "dive" ? example : Number(example), checkpoint, click: clicks });
  });
}

export function mountUploads(element) {
  const button = element.querySelector(".tn-camera");
  const dialog = element.querySelector("dialog");
  const video = dialog.querySelector("video");
  const sentence = dialog.querySelector("p");
  const shutter = dialog.querySelector("[data-camera=take]");
  const close = () => {
    video.srcObject?.getTracks().forEach(track => track.stop());
    video.srcObject = null;
    dialog.close();
  };
  button.hidden = !navigator.mediaDevices?.getUserMedia;
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
    const save = blob => {
      if (blob) give(new File([blob], "camera.jpg", { type: "image/jpeg" }));
      close();
    };
    canvas.toBlob(save, "image/jpeg", 0.92);
  });
  document.addEventListener("paste", onPaste);
  for (const kind of ["dragover", "drop"]) document.addEventListener(kind, onDrop);
}
