// What all tabs share.

// Brings another part of the page into view. A link with only a fragment would not do: under the document's <base>
// it means another address than the one with the visitor's query, so the browser would load the app anew.
document.addEventListener("click", event => {
  const target = document.getElementById(event.target.closest?.("[data-scroll-to]")?.dataset.scrollTo ?? "");
  if (!target) return;
  target.tabIndex = -1; // the keyboard goes on from there
  target.focus({ preventScroll: true });
  target.scrollIntoView({ block: "start" });
});
