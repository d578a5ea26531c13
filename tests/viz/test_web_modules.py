"""The modules of the page: how they are listed, addressed and joined."""

from __future__ import annotations

import re

import pytest

from viz.web.join import ENTRY, ModuleError, join_modules, join_page, parse_module, read_modules
from viz.web.modules import build_address, build_mount_script, build_sent_modules, build_web_head


def test_every_module_is_understood_and_needs_only_what_is_there() -> None:
    modules = read_modules()
    assert ENTRY in modules and "core/scene.js" in modules
    for name, text in modules.items():
        parsed = parse_module(name, text)
        assert set(parsed.imported + parsed.lazy) <= set(modules), name


def test_lines_fit_a_screen_and_data_never_becomes_markup() -> None:
    for name, text in read_modules().items():
        assert max(map(len, text.splitlines())) <= 120, name
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment", text
        ), name


def test_the_core_knows_neither_the_page_nor_the_tabs() -> None:
    for name, text in read_modules().items():
        needed = parse_module(name, text).imported
        folder = name.split("/")[0]
        if folder == "core":
            assert all(other.startswith("core/") for other in needed), name
            assert not re.search(r"\b(document|window)\.", text), name
        if folder == "ui":
            assert all(other.startswith(("core/", "ui/")) for other in needed), name


def test_the_page_asks_for_one_module_that_holds_explore_and_for_other_tabs_later() -> None:
    sent = build_sent_modules()
    needed = re.findall(r"^const module\d+ = \(\(\) => \{ // (\S+)$", sent[ENTRY], re.MULTILINE)
    assert re.findall(r'href="([^"]+)"', build_web_head()) == [build_address(ENTRY)]
    assert not build_address(ENTRY).startswith("/")  # works below a prefix
    assert "explore/stage.js" in needed
    assert not [name for name in needed if name.startswith(("compare/", "audit/", "report/"))]
    assert sent.keys() == (read_modules().keys() - needed) | {ENTRY}
    assert not re.search(r"^import\b", sent[ENTRY], re.MULTILINE)  # nothing more to ask for


def test_a_module_that_is_loaded_later_takes_from_the_entry_what_is_there() -> None:
    modules = {
        "main.js": 'import { two } from "./core/a.js";\n\nexport const four = two * two;\n'
        'export const later = async () => import("./tab/b.js");\n',
        "core/a.js": "export const two = 2;\n",
        "tab/b.js": 'import { two as pair } from "../core/a.js";\nimport { name as called } from "./c.js";\n'
        'export const both = [pair, called];\nexport const more = () => import("./c.js");\n',
        "tab/c.js": 'export const name = "c";\n',
    }
    sent = join_page("main.js", modules)
    assert sorted(sent) == ["main.js", "tab/b.js", "tab/c.js"]
    assert 'import("./tab/b.js")' in sent["main.js"]
    assert 'export const pageModules = { "core/a.js": module0, "main.js": module1 };' in sent["main.js"]
    assert sent["main.js"].endswith("export const { four, later } = module1;\n")
    assert sent["tab/b.js"] == (
        'import { pageModules } from "../main.js";\nconst { two: pair } = pageModules["core/a.js"];\n'
        'import { name as called } from "./c.js";\nconst both = [pair, called];\n'
        'const more = () => import("./c.js");\nexport { both, more };\n'
    )


def test_no_module_uses_the_name_under_which_others_are_found() -> None:
    assert not [name for name, text in read_modules().items() if "pageModules" in text]


def test_a_component_calls_one_function_with_its_element_and_events() -> None:
    assert build_mount_script("mountExplore", "steer") == (
        "TNet('mountExplore', element, { value: () => props.value, watch, steer: data => trigger('steer', data) });"
    )


def test_modules_are_joined_in_the_order_they_need_each_other() -> None:
    modules = {
        "main.js": 'import { twice as double } from "./core/a.js";\n\nexport const four = double(2);\n'
        'export const later = async () => (await import("./b.js")).name;\n',
        "core/a.js": 'import { two } from "../b.js";\n\nexport function twice(x) {\n  return two * x;\n}\n',
        "b.js": 'export const two = 2;\nexport const name = "b";\n',
        "unused.js": "export const never = 0;\n",
    }
    script = join_modules("main.js", "Page", modules)
    assert script.index("// b.js") < script.index("// core/a.js") < script.index("// main.js")
    assert "const { twice: double } = module1;" in script and "Promise.resolve(module0)" in script
    assert "return { four, later };" in script and "never" not in script


@pytest.mark.parametrize(
    "statement",
    [
        'import page from "./b.js";',
        'import * as page from "./b.js";',
        'import "./b.js";',
        "import { two } from './b.js';",
        'import { two } from "package";',
        'import { two } from "../b.js";',
        "export default 1;",
        "export let two = 2;",
        'export * from "./b.js";',
        'export { two as three } from "./b.js";',
        "  export const two = 2;",
        "const page = import(name);",
        "const here = import.meta.url;",
        'const text = await fetch("x");',
        'const end = "</SCRIPT>";',
        "const comment = '<!--';",
    ],
)
def test_a_statement_that_is_not_understood_is_refused(statement: str) -> None:
    modules = {"main.js": f"{statement}\n", "b.js": "export const two = 2;\n"}
    with pytest.raises(ModuleError, match=r"main\.js"):
        join_modules("main.js", "Page", modules)


def test_what_is_missing_or_needs_itself_is_refused() -> None:
    importing = 'import { two } from "./b.js";\nexport const one = 1;\n'
    with pytest.raises(ModuleError, match=r"no module 'b\.js', which main\.js needs"):
        join_modules("main.js", "Page", {"main.js": importing})
    with pytest.raises(ModuleError, match=r"imports 'two', which b\.js does not export"):
        join_modules("main.js", "Page", {"main.js": importing, "b.js": "export const three = 3;\n"})
    circle = {"main.js": importing, "b.js": 'import { one } from "./main.js";\nexport const two = 2 * one;\n'}
    with pytest.raises(ModuleError, match=r"main\.js > b\.js > main\.js"):
        join_modules("main.js", "Page", circle)
