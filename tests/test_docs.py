"""The documentation: links lead somewhere, the site builds without a warning and loads nothing from elsewhere."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import tnet_core as tn
from tnet_core import command
from tools.docs_site import CODE, LINK, PAGES, resolve_link

ROOT = Path(__file__).parents[1]
TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.splitlines()
# The cards of checkpoints, and a Space's first page, are read in folders of their own.
TEXTS = [
    name for name in TRACKED if name.endswith(".md") and not name.startswith(("checkpoints/", "tools/space_readme"))
]
MAX_README_LINES = 121  # a third of what it was before there were pages


def list_anchors(text: str) -> set[str]:
    """Return the names of a text's headings in addresses, as hosts of repositories and the site make them."""
    names: list[str] = []
    for title in re.findall(r"^#{1,6} +(.+?)\s*$", re.sub(r"^(```).*?^\1", "", text, flags=re.M | re.S), re.M):
        plain = re.sub(r"\[([^]]*)\]\([^)]*\)|[`*]", r"\1", title).lower()
        names.append(re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", plain)))
    return set(names)


def find_dead_links(text: str, name: str) -> list[str]:
    """Return the links of a text, which lies at `name`, that lead to no file or to no heading of it."""
    dead = []
    for _, link, anchor, _ in [*LINK.findall(CODE.sub("", text)), *re.findall(r"(\]\()()(#[^)\s]*)(\))", text)]:
        target = resolve_link(link, name) if link else name
        if target is None:
            continue
        if not (ROOT / target).exists():
            dead.append(link)
        elif anchor and target.endswith(".md"):
            there = text if target == name else (ROOT / target).read_text(encoding="utf-8")
            dead += [] if anchor[1:] in list_anchors(there) else [link + anchor]
    return dead


@pytest.mark.parametrize("name", TEXTS)
def test_links_of_a_text_lead_to_files_and_headings_that_are_there(name: str) -> None:
    assert not find_dead_links((ROOT / name).read_text(encoding="utf-8"), name)


def test_links_that_lead_nowhere_are_found() -> None:
    text = "# Here\n[a](none.md) [b](#there) [c](#here) [d](../README.md#nothing) [e](app.md#compare) `[f](none)`"
    assert find_dead_links(text, "docs/index.md") == ["none.md", "../README.md#nothing", "#there"]


def test_the_readme_is_short_and_leads_to_the_pages() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= MAX_README_LINES
    linked = {resolve_link(link, "README.md") for _, link, _, _ in LINK.findall(text)}
    assert {"docs/index.md", "docs/tutorial.md", "docs/ledger.md", "docs/checkpoints.md"} <= linked


def test_every_page_can_be_reached_from_the_first() -> None:
    seen, waiting = set(), ["docs/index.md", *re.findall(r"\b[\w/]+\.md\b", (ROOT / "mkdocs.yml").read_text())]
    seen = {f"docs/{name}" if not name.startswith("docs/") else name for name in waiting}
    assert {name for name in TRACKED if name.startswith("docs/") and name.endswith(".md")} <= seen
    assert set(PAGES.values()) <= {name.removeprefix("docs/") for name in seen}


@pytest.mark.slow
def test_the_tutorial_s_code_runs(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), re.S)
    assert len(blocks) == 4
    for block in blocks:
        exec(block, names)
    printed = capsys.readouterr().out
    assert printed.count("look 5: ") == 2 and "is the last one from" in printed and "changes the logit" in printed


def list_commands(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield module and arguments of every command line of this project in a text's code, without what is optional."""
    for line in re.findall(r"^ {4}(\S.*)$", text.replace("\\\n", ""), re.M):
        words = re.sub(r"\[[^]]*\]|…", "", line.partition(" #")[0]).split()
        program = words[0].rpartition("/")[2] if words else ""
        if program == "tnet" and words[1:2] and words[1] in {**command.CORE, **command.CLONE}:
            found = {**command.CORE, **command.CLONE}[words[1]]
            yield found.module, [*found.before, *words[2:]]
        elif program in ("python", "accelerate") and "-m" in words:
            at = words.index("-m")
            yield words[at + 1], words[at + 2 :]


class UnderstoodError(Exception):
    """A command has read its arguments; nothing is run."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in TEXTS if name.startswith(("README", "docs/", "training/"))])
def test_every_command_of_a_text_is_one_that_its_program_understands(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for method in ("parse_args", "parse_intermixed_args"):
        monkeypatch.setattr(argparse.ArgumentParser, method, end_after(getattr(argparse.ArgumentParser, method)))
    for module, arguments in list_commands((ROOT / name).read_text(encoding="utf-8")):
        if module == "app" or module.partition(".")[0] not in ("tnet_core", "training"):
            continue
        spec = importlib.util.find_spec(module)
        assert spec is not None, module
        program = importlib.import_module(f"{module}.__main__" if spec.submodule_search_locations else module)
        with pytest.raises(UnderstoodError):  # a parser that refuses them exits
            program.main(arguments)


def end_after(read: Callable[..., object]) -> Callable[..., object]:
    def read_and_end(*arguments: object) -> object:
        read(*arguments)
        raise UnderstoodError

    return read_and_end


def test_the_commands_about_whole_data_sets_are_of_one_run() -> None:
    """Another checkpoint or budget would be refused, and the third question needs three looks."""
    text = (ROOT / "docs" / "data_sets.md").read_text(encoding="utf-8")
    commands = [
        " ".join(arguments) for module, arguments in list_commands(text) if module.startswith("tnet_core.batch")
    ]
    assert len(commands) == 3
    for arguments in commands:
        assert arguments.startswith("photographs/ --checkpoint tnet-lite0-cub --budget 5 --out looks.parquet"), (
            arguments
        )


@dataclass
class Contents(HTMLParser):
    """What a page of the site links to, what it loads, and which places in it have names."""

    links: set[str] = field(default_factory=set)
    loads: set[str] = field(default_factory=set)
    names: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {key: value for key, value in attrs if value is not None}
        self.names |= {given[key] for key in ("id", "name") if key in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag == "link" and given.get("rel") not in ("canonical", "next", "prev"):
            self.loads.add(given["href"])
        elif tag in ("script", "img", "source", "iframe", "video") and "src" in given:
            self.loads.add(given["src"])


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the site, built as `make docs` builds it."""
    out = tmp_path_factory.mktemp("site") / "docs"
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(out)]
    quiet = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(build, cwd=ROOT, env=quiet, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Contents]:
    found = {}
    for path in site.rglob("*.html"):
        found[path.resolve()] = contents = Contents()
        contents.feed(path.read_text(encoding="utf-8"))
    return found


@pytest.mark.slow
def test_every_link_of_the_site_leads_to_a_page_and_a_place_in_it(pages: dict[Path, Contents]) -> None:
    dead = []
    for path, contents in pages.items():
        if path.name == "404.html":  # it is shown at any address, with links from the root
            continue
        for link in contents.links | contents.loads:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            there = there / "index.html" if there.is_dir() else there
            known = pages[there].names if there in pages else set()
            if not there.is_file() or (parts.fragment and unquote(parts.fragment) not in known):
                dead.append(f"{path.name}: {link}")
    assert len(pages) > 30 and not dead


@pytest.mark.slow
def test_the_site_loads_nothing_from_elsewhere(pages: dict[Path, Contents], site: Path) -> None:
    loaded = {link for contents in pages.values() for link in contents.loads}
    assert loaded and not [link for link in loaded if urlsplit(link).netloc]
    # Opened from a folder it is searched with these two.
    assert (site / "search" / "search_index.js").is_file()
    assert "assets/iframe-worker.js" in pages[(site / "index.html").resolve()].loads
    for path in site.rglob("*.css"):
        assert not re.search(r"(?:url\(|@import) *[\"']?(?:https?:)?//", path.read_text(encoding="utf-8")), path.name


@pytest.mark.slow
def test_the_reference_has_every_public_name_and_every_command(site: Path) -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (site / "reference").glob("*.html"))
    places = {*re.findall(r'id="([^"]+)"', text)}
    for name in tn.__all__:
        module = getattr(getattr(tn, name), "__name__", "")  # of those names that are packages
        assert {f"tnet_core.api.{name}", f"tnet_core.{name}", module} & places, name
    for module in (tn.explain, tn.compare, tn.checkpoints):
        for name in module.__all__:  # a function may have the name of its file
            assert {f"{module.__name__}.{name}", f"{module.__name__}.{name}.{name}"} & places, name
    for name in tn.command.CORE:
        assert f'id="tnet-{name}"' in text and f"usage: tnet {name}" in text
