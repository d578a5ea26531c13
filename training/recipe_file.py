"""Reading recipes: a YAML file, the recipe it builds on, and changes from the command line.

Every problem is one sentence that names the key in full ('optim.lr').
"""

from __future__ import annotations

import dataclasses
import difflib
import re
import types
import typing
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from tnet_core.checkpoints.files import read_bounded
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.fields import described, fits
from training.recipe import Recipe
from training.recipe_checks import check_recipe
from training.recipe_yaml import dump, parse

RECIPES = Path(__file__).parent / "recipes"
_MAX_BYTES = 64 << 10
_MAX_BASES = 3  # recipes below one another
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")

T = TypeVar("T")


def recipe_names() -> list[str]:
    """The recipes that come with the package; each name also works as a path."""
    return sorted(path.stem for path in RECIPES.glob("*.yaml"))


def read_recipe(path: Path | str, overrides: Sequence[str] = ()) -> Recipe:
    """The checked recipe of a file or of a name of `recipe_names`, changed by 'key=value' texts."""
    file = _find(path)
    try:
        values = _read_file(file)
        for text in overrides:
            _override(values, text)
        return from_mapping(values, name=file.stem)
    except TNetError as error:
        raise TNetError(f"Recipe '{path}': {error}") from None


def from_mapping(values: Mapping[str, Any], name: str = "") -> Recipe:
    """The checked recipe of nested plain values; a recipe without a name of its own takes `name`."""
    recipe = _section(Recipe, {"name": name, **values}, "")
    check_recipe(recipe)
    return recipe


def to_mapping(recipe: Recipe) -> dict[str, Any]:
    """Plain YAML values, all of them written out; `from_mapping` reads them back to an equal recipe."""
    plain: dict[str, Any] = _plain(dataclasses.asdict(recipe))
    return plain


def to_text(recipe: Recipe) -> str:
    """The same as the text of a recipe file."""
    return dump(to_mapping(recipe))


def _find(path: Path | str) -> Path:
    given = Path(path)
    if isinstance(path, Path) or given.suffix in (".yaml", ".yml") or len(given.parts) != 1:
        return given
    names = recipe_names()
    if path not in names:
        raise TNetError(f"There is no recipe '{path}'{_hint(path, names)}; known are: {', '.join(names)}.")
    return RECIPES / f"{path}.yaml"


def _read_file(file: Path, above: tuple[Path, ...] = ()) -> dict[str, Any]:
    """The file's values on top of those of the recipe it may be based on; `above` are the files based on it."""
    values = _parse_file(file)
    if "base" not in values:
        return values
    base = values.pop("base")
    if not isinstance(base, str) or not base:
        raise TNetError(f"'base' is {base!r:.60}, but must be the name or the path of another recipe.")
    start = _find(base)
    start = start if base in recipe_names() else file.parent / start
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
    return _merged(below, values)


def _parse_file(file: Path) -> dict[str, Any]:
    values = parse(read_bounded(file, _MAX_BYTES))
    if not isinstance(values, dict):
        raise TNetError("it must be a mapping of keys to values.")
    return values


def _merged(below: dict[str, Any], above: dict[str, Any]) -> dict[str, Any]:
    result = dict(below)
    for key, value in above.items():
        both = isinstance(value, dict) and isinstance(below.get(key), dict)
        result[key] = _merged(below[key], value) if both else value
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


def _section(cls: type[T], values: Any, prefix: str) -> T:
    """A dataclass from a mapping; sections inside it are dataclasses again."""
    if not isinstance(values, Mapping):
        raise TNetError(f"'{prefix.rstrip('.')}' is {values!r:.60}, but must be a section with keys of its own.")
    hints = typing.get_type_hints(cls)
    read: dict[str, Any] = {}
    for key, value in values.items():
        if key not in hints:
            raise TNetError(f"unknown key '{prefix}{key}'{_hint(f'{prefix}{key}', _known_keys())}.")
        hint = hints[key]
        if dataclasses.is_dataclass(hint):
            read[key] = _section(typing.cast(type, hint), value, f"{prefix}{key}.")
        else:
            read[key] = _value(value, hint, f"{prefix}{key}")
    if prefix == "model." and "config" in read:
        read["config"] = _config_fields(read["config"])
    return cls(**read)


def _config_fields(values: dict[str, Any]) -> dict[str, Any]:
    """Fields of the architecture, as far as they are given."""
    hints = typing.get_type_hints(TNetConfig)
    del hints["name"]  # for display: the preset's
    for key in values:
        if key not in hints:
            raise TNetError(f"unknown key 'model.config.{key}'{_hint(f'model.config.{key}', _known_keys())}.")
    return {key: _value(value, hints[key], f"model.config.{key}") for key, value in values.items()}


def _value(value: Any, hint: Any, key: str) -> Any:
    """A value of the declared type: lists serve as tuples, quoted numbers as numbers."""
    options = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if isinstance(value, list) and any(typing.get_origin(option) is tuple for option in options):
        value = tuple(value)
    if isinstance(value, str) and float in options and _NUMBER.fullmatch(value):
        value = float(value)
    if not fits(value, hint):
        shown = list(value) if isinstance(value, tuple) else value
        raise TNetError(f"'{key}' is {shown!r:.60}, but must be {described(hint)}.")
    return float(value) if float in options and value is not None else value


def _known_keys(cls: type = Recipe, prefix: str = "") -> list[str]:
    found: list[str] = []
    for name, hint in typing.get_type_hints(cls).items():
        found.append(f"{prefix}{name}")
        if dataclasses.is_dataclass(hint):
            found += _known_keys(typing.cast(type, hint), f"{prefix}{name}.")
        elif f"{prefix}{name}" == "model.config":
            found += _known_keys(TNetConfig, "model.config.")
    return found


def _hint(given: str, known: Sequence[str]) -> str:
    """' (did you mean …?)': the nearest known key, or the section in which a key of that name lies."""

    def candidates() -> Iterator[str]:
        leaf = given.rpartition(".")[2]
        yield from (key for key in known if key.rpartition(".")[2] == leaf)
        yield from difflib.get_close_matches(given, known, 1, 0.75)

    nearest = next(candidates(), None)
    return f" (did you mean '{nearest}'?)" if nearest else ""


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value
