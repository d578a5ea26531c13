"""The modules as a browser is sent them, their addresses below the page, and the head of a document that loads them."""

from __future__ import annotations

import hashlib
from functools import cache

from viz.web.join import ENTRY, join_page, read_modules


@cache
def build_sent_modules() -> dict[str, str]:
    """Return the text of every module that has an address: the entry with what it needs at once, and the others."""
    return join_page(ENTRY, read_modules())


@cache
def build_version() -> str:
    """Return a name for the modules as they are sent: one change in one of them changes all addresses."""
    digest = hashlib.sha256()
    for name, text in build_sent_modules().items():
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:12]


def build_address(name: str) -> str:
    """Return where the page finds a module, relative to the page's own address."""
    return f"web/{build_version()}/{name}"


def build_web_head() -> str:
    """Return the part of a document's head that loads the modules and defines `TNet(name, …)`.

    A component's script may run before the modules are there, and a server may be gone before they are: `TNet` waits
    for the entry module, calls its function of that name, which may load further ones, and says so on the page where
    that fails.
    """
    link = f'<link rel="modulepreload" href="{build_address(ENTRY)}">'
    return f"{link}<script>{_LOADER.replace('ENTRY', build_address(ENTRY))}</script>"


def build_mount_script(function: str, *events: str) -> str:
    """Return what a component runs once: a function of the entry module gets its element, its value and its events."""
    sends = "".join(f", {name}: data => trigger('{name}', data)" for name in events)
    return f"TNet('{function}', element, {{ value: () => props.value, watch{sends} }});"


_LOADER = """window.TNet = async (name, ...given) => {
  try {
    return await (await import("./ENTRY"))[name](...given);
  } catch (problem) {
    console.error(problem);
    if (document.getElementById("tn-not-loaded")) return;
    const line = document.createElement("p");
    Object.assign(line, { id: "tn-not-loaded", className: "tn-problem", textContent:
      "A part of this page could not be loaded: check the connection and reload the page." });
    line.setAttribute("role", "alert");
    document.querySelector(".gradio-container")?.prepend(line);
  }
};"""
