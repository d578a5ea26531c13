"""The modules as they are written, and several of them as one text: each becomes a function that returns its exports.

A report can load nothing, so it has one script of all. The page asks for one module that holds all that it needs at
once, since every request costs a way to the server and back; the modules of other tabs are loaded when they are needed.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ENTRY = "main.js"
_FOLDER = Path(__file__).parent
# The few forms of import and export that are in use, at the beginning of a line; everything else is refused. So no
# JavaScript parser has to be among the app's packages.
_NAMES = r"\{\s*(?P<names>(?:\w+(?: as \w+)?,\s*)*\w+(?: as \w+)?),?\s*\}"
_FROM = r"\"(?P<path>\.{1,2}/[\w./]+\.js)\""
_IMPORT = re.compile(rf"^import {_NAMES} from {_FROM};\n", re.MULTILINE)
_EXPORT_FROM = re.compile(rf"^export {_NAMES} from {_FROM};\n", re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async function|function|const|class) (?P<name>\w+)\b)", re.MULTILINE)
_LAZY = re.compile(rf"\bimport\({_FROM}\)")
# What may not be left over: other imports and exports, code that waits while a module starts, ends of script elements.
_REFUSED = re.compile(
    r"^[ \t]*(?:import|export)\b|\bimport\s*[(.]|^(?=[^\s/])(?!.*\basync\b).*\bawait\b|(?i:</script|<!--)", re.MULTILINE
)


class ModuleError(ValueError):
    """A module has a statement that is not understood; the message names it."""


@dataclass(frozen=True)
class Module:
    """One module: its text without imports and exports, and what they say."""

    name: str
    body: str  # lazy imports are `import("name of the module")`
    imports: tuple[tuple[str, str], ...]  # (name of the module, '{ names }' as in a destructuring assignment)
    exports: tuple[str, ...]
    imported: tuple[str, ...]  # modules needed at once
    lazy: tuple[str, ...]  # modules needed later


@cache
def read_modules() -> dict[str, str]:
    """Return the text of every module by its name, such as 'core/scene.js'. Read once: a page's version is one."""
    files = sorted(_FOLDER.rglob("*.js"))
    return {file.relative_to(_FOLDER).as_posix(): file.read_text(encoding="utf-8") for file in files}


def parse_module(name: str, text: str) -> Module:
    """Return a module's statements; raise ModuleError where one is not understood."""
    imports, exports, lazy = list[tuple[str, str]](), list[str](), list[str]()

    def resolve(path: str) -> str:
        found = posixpath.normpath(posixpath.join(posixpath.dirname(name), path))
        if found.startswith(".."):
            raise ModuleError(f"{name}: '{path}' is outside of the folder of modules.")
        return found

    def take_import(match: re.Match[str]) -> str:
        names = re.sub(r"(\w+) as (\w+)", r"\1: \2", " ".join(match["names"].split()))
        imports.append((resolve(match["path"]), f"{{ {names} }}"))
        return ""

    def take_passed_on(match: re.Match[str]) -> str:
        if " as " in match["names"]:
            raise ModuleError(f"{name}: names cannot be changed where they are passed on.")
        exports.extend(match["names"].replace(",", " ").split())
        return take_import(match)

    def take_export(match: re.Match[str]) -> str:
        exports.append(match["name"])
        return ""

    def take_lazy(match: re.Match[str]) -> str:
        lazy.append(resolve(match["path"]))
        return f'LAZY("{lazy[-1]}")'

    body = _IMPORT.sub(take_import, text)
    body = _EXPORT_FROM.sub(take_passed_on, body)
    body = _EXPORT.sub(take_export, body)
    body = _LAZY.sub(take_lazy, body)
    if left := _REFUSED.search(body):
        line = body[body.rfind("\n", 0, left.start() + 1) + 1 :].partition("\n")[0].strip()
        raise ModuleError(f"{name}: this statement is not understood: {line[:100]}")
    needed = tuple(dict.fromkeys(path for path, _ in imports))
    return Module(name, body, tuple(imports), tuple(exports), needed, tuple(dict.fromkeys(lazy)))


def join_modules(entry: str, name: str, modules: Mapping[str, str] | None = None) -> str:
    """Return a script that runs a module and all that it needs, and gives its exports the name `name`.

    What would be loaded later is part of the script too. Raise ModuleError where a module cannot be understood, is
    missing, does not export what is imported from it, or needs itself.
    """
    texts = read_modules() if modules is None else modules
    order = _sort_modules(entry, texts)
    numbers = {module.name: f"module{number}" for number, module in enumerate(order)}
    parts = [_wrap_module(module, numbers) for module in order]
    return f'"use strict";\nconst {name} = (() => {{\n{"".join(parts)}return {numbers[entry]};\n}})();\n'


def join_page(entry: str, texts: Mapping[str, str]) -> dict[str, str]:
    """Return the modules of a page by name: the entry holds all that it imports, and the others find it there.

    The entry's additional export `pageModules` holds these modules by their names. Raise ModuleError as
    `join_modules` does.
    """
    order = _sort_modules(entry, texts, with_lazy=False)
    numbers = {module.name: f"module{number}" for number, module in enumerate(order)}
    wrapped = "".join(_wrap_module(module, numbers, entry) for module in order)
    table = ", ".join(f'"{name}": {number}' for name, number in numbers.items())
    exports = ", ".join(order[-1].exports)
    sent = {
        entry: f"{wrapped}export const pageModules = {{ {table} }};\nexport const {{ {exports} }} = {numbers[entry]};\n"
    }
    for name in texts.keys() - numbers.keys():
        sent[name] = _write_later_module(parse_module(name, texts[name]), entry, numbers)
    return dict(sorted(sent.items()))


def _write_later_module(module: Module, entry: str, numbers: Mapping[str, str]) -> str:
    """Return a module that is loaded later: what the entry holds is taken from there, so that it is there once."""
    lines = []
    for path, names in module.imports:
        if path in numbers:
            lines.append(f'const {names} = pageModules["{path}"];\n')
        else:
            lines.append(f'import {names.replace(": ", " as ")} from "{_find_way(module.name, path)}";\n')
    if any(path in numbers for path in module.imported):
        lines.insert(0, f'import {{ pageModules }} from "{_find_way(module.name, entry)}";\n')
    body = module.body
    for other in module.lazy:
        if other in numbers:
            body = body.replace(f'LAZY("{other}")', f'Promise.resolve(pageModules["{other}"])')
        body = body.replace(f'LAZY("{other}")', f'import("{_find_way(module.name, other)}")')
    return f"{''.join(lines)}{body.strip()}\nexport {{ {', '.join(module.exports)} }};\n"


def _find_way(origin: str, target: str) -> str:
    """Return the address of a module as another one names it."""
    found = posixpath.relpath(target, posixpath.dirname(origin) or ".")
    return found if found.startswith("../") else f"./{found}"


def _sort_modules(entry: str, texts: Mapping[str, str], *, with_lazy: bool = True) -> list[Module]:
    """Return the modules in an order in which each comes after those it needs."""
    done, open_names = dict[str, Module](), list[str]()

    def visit(name: str) -> None:
        if name in done:
            return
        if name in open_names:
            raise ModuleError(f"Modules need one another: {' > '.join([*open_names, name])}.")
        if name not in texts:
            raise ModuleError(f"There is no module '{name}'{f', which {open_names[-1]} needs' if open_names else ''}.")
        open_names.append(name)
        module = parse_module(name, texts[name])
        for other in (*module.imported, *(module.lazy if with_lazy else ())):
            visit(other)
        _check_imports(module, done)
        open_names.pop()
        done[name] = module

    visit(entry)
    return list(done.values())


def _check_imports(module: Module, others: Mapping[str, Module]) -> None:
    for path, names in module.imports:
        for name in names.strip("{} ").split(", "):
            exported = name.split(":")[0].rstrip(",")
            if exported not in others[path].exports:
                raise ModuleError(f"{module.name} imports '{exported}', which {path} does not export.")


def _wrap_module(module: Module, numbers: Mapping[str, str], entry: str = "") -> str:
    """Return a module as a function; what is loaded later, and not among `numbers`, is named from the entry."""
    body = module.body
    for other in module.lazy:
        there = f"Promise.resolve({numbers[other]})" if other in numbers else f'import("{_find_way(entry, other)}")'
        body = body.replace(f'LAZY("{other}")', there)
    imports = "".join(f"const {names} = {numbers[path]};\n" for path, names in module.imports)
    exports = ", ".join(module.exports)
    head = f"const {numbers[module.name]} = (() => {{ // {module.name}\n"
    return f"{head}{imports}{body.strip()}\nreturn {{ {exports} }};\n}})();\n"
