"""Reading recipes: a YAML file, the recipe it builds on, and changes from the command line.

Every problem is one sentence that names the key in full ('optim.lr'). PyYAML follows YAML 1.1, in which `1e-3` is a
text, `no` is false and `1:30` is ninety. Recipes use the simpler rules of YAML 1.2, both when they are read and when
they are written; anchors and keys that appear twice are refused.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import re
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from tnet_core.errors import UNKNOWN, TNetError, find_problem
from tnet_core.modeling.config import TNetConfig
from tnet_core.schemas.files import read_bounded
from tnet_core.schemas.text import StrictYaml, parse_yaml
from training.recipes.checks import check_recipe
from training.recipes.recipe import Recipe

RECIPES = Path(__file__).parent
_MAX_BYTES = 64 << 10
_MAX_BASES = 3  # recipes below one another
_SCHEMA = TypeAdapter(Recipe)
_RULES = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+",
        list("-+.0123456789"),
    ),
)


def list_recipes() -> list[str]:
    """Return the names of the recipes that come with the package; each also works as a path."""
    return sorted(path.stem for path in RECIPES.glob("*.yaml"))


def read_recipe(path: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """Return the checked recipe of a file or of a name of `list_recipes`, changed by 'key=value' texts."""
    file = _find_recipe(path)
    try:
        values = _read_file(file)
        for text in overrides:
            _override(values, text)
        return recipe_from_mapping(values, name=file.stem)
    except TNetError as error:
        raise TNetError(f"Recipe '{path}': {error}") from None


def recipe_from_mapping(values: Mapping[str, Any], name: str = "") -> Recipe:
    """Return the checked recipe of nested plain values; a recipe without a name of its own takes `name`."""
    try:
        recipe = _SCHEMA.validate_json(json.dumps({"name": name, **values}, default=str))
    except ValidationError as error:
        key, problem = find_problem(error)
        if problem == UNKNOWN:
            raise _refuse_key(key) from None
        raise TNetError(f"'{key}'{problem}.") from None
    for key in recipe.model.config:
        if f"model.config.{key}" not in _list_keys():
            raise _refuse_key(f"model.config.{key}")
    check_recipe(recipe)
    return recipe


def recipe_to_mapping(recipe: Recipe) -> dict[str, Any]:
    """Return plain YAML values, all of them written out; `recipe_from_mapping` reads them back to an equal recipe."""
    plain: dict[str, Any] = json.loads(json.dumps(dataclasses.asdict(recipe)))  # tuples become lists
    return plain


def recipe_to_text(recipe: Recipe) -> str:
    """Return the same as the text of a recipe file."""
    return dump(recipe_to_mapping(recipe))


def _find_recipe(path: Path | str) -> Path:
    given = Path(path)
    if isinstance(path, Path) or given.suffix in (".yaml", ".yml") or len(given.parts) != 1:
        return given
    names = list_recipes()
    if path not in names:
        raise TNetError(f"There is no recipe '{path}'{_suggest(path, names)}; known are: {', '.join(names)}.")
    return RECIPES / f"{path}.yaml"


def _read_file(file: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """Return the file's values on top of those of the recipe it may be based on; `above` are the files based on it."""
    values = parse(read_bounded(file, _MAX_BYTES))
    if not isinstance(values, dict):
        raise TNetError("it must be a mapping of keys to values.")
    if "base" not in values:
        return values
    base = values.pop("base")
    if not isinstance(base, str) or not base:
        raise TNetError(f"'base' is {base!r:.60}, but must be the name or the path of another recipe.")
    start = _find_recipe(base)
    start = start if base in list_recipes() else file.parent / start
    files = (*above, file.resolve())
    if start.resolve() in files:
        raise TNetError(f"its base '{base}' leads back to itself.")
    if len(files) > _MAX_BASES:
        raise TNetError(f"its base '{base}' is one too many: at most {_MAX_BASES} recipes lie below one another.")
    try:
        below = _read_file(start, files)
    except TNetError as error:
        raise TNetError(f"its base '{base}': {error}") from None
    below.pop("name", None)
    return _merge(below, values)


def _merge(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        result[key] = _merge(below[key], value) if both else value
    return result


def _override(values: dict[str, Any], text: str) -> None:
    """Put the value of 'a.b=value' into nested values."""
    key, equals, value = text.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts):
        raise TNetError(f"'{text:.80}' is not a change of the form key=value, such as optim.lr=1e-4.")
    for part in parts[:-1]:
        values = values.setdefault(part, {})
        if not isinstance(values, dict):
            raise TNetError(f"unknown key '{key.strip()}': '{part}' is not a section.")
    try:
        values[parts[-1]] = parse(value)
    except TNetError as error:
        raise TNetError(f"the value of '{key.strip()}' cannot be read: {error}") from None


def _refuse_key(key: str) -> TNetError:
    return TNetError(f"unknown key '{key}'{_suggest(key, _list_keys())}.")


def _list_keys(cls: type = Recipe, prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, hint in typing.get_type_hints(cls).items():
        found.append(f"{prefix}{name}")
        if dataclasses.is_dataclass(hint):
            found += _list_keys(typing.cast(type, hint), f"{prefix}{name}.")
        elif f"{prefix}{name}" == "model.config":
            found += _list_keys(TNetConfig, "model.config.")
            found.remove("model.config.name")  # for display: the preset's
    return found


def _suggest(given: str, known: Sequence[str]) -> str:
    """Return ' (did you mean …?)' with the nearest known key, or the section in which a key of that name lies."""

    def candidates() -> Iterator[str]:
        leaf = given.rpartition(".")[2]
        yield from (key for key in known if key.rpartition(".")[2] == leaf)
        yield from difflib.get_close_matches(given, known, 1, 0.75)

    nearest = next(candidates(), None)
    return f" (did you mean '{nearest}'?)" if nearest else ""


class _Loader(StrictYaml, yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (declared so by the library)


class _Dumper(yaml.SafeDumper):
    """Quotes what YAML 1.1 or YAML 1.2 would read as something else than a text."""


for _tag, _pattern, _first in _RULES:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def parse(text: str | bytes) -> Any:
    """Return plain values of a YAML text."""
    return parse_yaml(text, _Loader)


def dump(value: Any) -> str:
    """Return a text that `parse` reads back to an equal value."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
