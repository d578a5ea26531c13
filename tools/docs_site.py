"""Hooks of the documentation's site (mkdocs.yml): what its pages need from outside `docs/`.

Texts beside the code they describe, such as training/README.md, become pages of the site, and other files that a page
links to are copied beside it. Links stay as they are in the repository, where they work too; here they are rewritten.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import logging
import os
import posixpath
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest.mock import patch

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
PAGES = {  # a text outside docs/ -> its page
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "examples/ATTRIBUTION.md": "project/attribution.md",
    "training/README.md": "project/training.md",
    "training/adapt/README.md": "project/adapt.md",
}
LINK = re.compile(r"(\]\()([^)#\s]+)(#[^)\s]*)?(\))")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
COMMANDS = "<!-- help of every command: filled in by tools/docs_site.py -->"
log = logging.getLogger("mkdocs.hooks.docs_site")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages whose texts lie elsewhere, and the files that any page links to."""
    for source, uri in PAGES.items():
        files.append(File.generated(config, uri, content=(ROOT / source).read_text(encoding="utf-8")))
    for file in [file for file in files if file.is_documentation_page()]:
        for target in list_targets(file.content_string, find_source(file.src_uri)):
            uri = find_uri(target)
            if files.get_file_from_path(uri) is None and (ROOT / target).is_file():
                files.append(File.generated(config, uri, content=(ROOT / target).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, **_: Any) -> str:
    """Return a page's text with links that work in the site, and with the commands' help where it belongs."""
    if COMMANDS in markdown:
        markdown = markdown.replace(COMMANDS, render_commands())
    return rewrite_links(markdown, find_source(page.file.src_uri), page.file.src_uri)


def rewrite_links(markdown: str, source: str, uri: str) -> str:
    """Return a text whose relative links lead from the page `uri` of the site to where they lead from `source`."""

    def rewrite(match: re.Match[str]) -> str:
        target = resolve_link(match[2], source)
        if target is None:
            return match[0]
        if not (ROOT / target).is_file():
            log.warning("'%s' links to '%s', which is not there", source, match[2])
        relative = posixpath.relpath(find_uri(target), posixpath.dirname(uri) or ".")
        return f"{match[1]}{relative}{match[3] or ''}{match[4]}"

    return map_prose(LINK, rewrite, markdown)


def list_targets(markdown: str, source: str) -> list[str]:
    """Return the files of the project that a text links to."""
    prose = CODE.sub("", markdown)
    return [target for _, link, _, _ in LINK.findall(prose) if (target := resolve_link(link, source)) is not None]


def resolve_link(link: str, source: str) -> str | None:
    """Return the file that a link leads to, from the project's folder; None for addresses."""
    if re.match(r"[a-z]+:", link):
        return None
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def find_source(uri: str) -> str:
    """Return where the text of a page lies in the project."""
    return next((source for source, page in PAGES.items() if page == uri), f"docs/{uri}")


def find_uri(source: str) -> str:
    """Return where a file of the project is in the site."""
    if source.startswith("docs/"):
        return source.removeprefix("docs/")
    return PAGES.get(source, f"files/{source}")


def map_prose(pattern: re.Pattern[str], change: Callable[[re.Match[str]], str], markdown: str) -> str:
    """Return a text with a pattern replaced everywhere but in code."""
    parts, end = [], 0
    for code in CODE.finditer(markdown):
        parts += [pattern.sub(change, markdown[end : code.start()]), code[0]]
        end = code.end()
    return "".join([*parts, pattern.sub(change, markdown[end:])])


def render_commands() -> str:
    """Return the help of every sub-command of `tnet` that the package holds."""
    sys.path[:0] = [str(ROOT)]
    from tnet_core.command import CORE

    texts = []
    for name, command in CORE.items():
        printed = io.StringIO()
        with contextlib.ExitStack() as changed:
            changed.enter_context(patch.object(sys, "argv", [f"tnet {name}"]))
            changed.enter_context(patch.dict(os.environ, {"COLUMNS": "100"}))
            changed.enter_context(contextlib.redirect_stdout(printed))
            changed.enter_context(contextlib.suppress(SystemExit))
            importlib.import_module(command.module).main([*command.before, "--help"])
        texts.append(f"## tnet {name}\n\n```text\n{printed.getvalue().strip()}\n```")
    return "\n\n".join(texts)
