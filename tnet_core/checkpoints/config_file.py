"""`config.json`: everything about a checkpoint except its tensors and its accuracy.

    {
      "schema": 1,
      "model": {...},              TNetConfig, field by field
      "preprocessing": {...},      derived from the model, for readers that are not this project
      "trained_budget": [5],       derived from the model, likewise
      "class_names": [...],        one per class, or empty when unknown
      "provenance": {...}          any JSON values
    }

Provenance is free. Tools look for these keys, all optional: `recipe`, `dataset`, `commit`, `seed`,
`licence` (of the weights), `data_licence`, `base_model`, `citation`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tnet_core.checkpoints.files import CONFIG_FILE, MAX_BYTES, write_atomically
from tnet_core.checkpoints.strict_json import check_json, read_json
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig

SCHEMA = 1
MAX_NAME_LENGTH = 200
_FIELDS = {"schema", "model", "preprocessing", "trained_budget", "class_names", "provenance"}


@dataclass(frozen=True)
class CheckpointConfig:
    """The content of a valid `config.json`."""

    model: TNetConfig
    class_names: tuple[str, ...] = ()
    provenance: dict[str, Any] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "schema": SCHEMA,
            "model": self.model.to_dict(),
            "preprocessing": preprocessing_of(self.model),
            "trained_budget": list(self.model.budget),
            "class_names": list(self.class_names),
            "provenance": self.provenance,
        }


def preprocessing_of(config: TNetConfig) -> dict[str, Any]:
    """How pixels become the network's input, in words and numbers another program can follow."""
    official = config.sampling == "official"
    return {
        "sampling": config.sampling,
        "input_size": config.input_size if official else None,
        "base_resolution": config.base_resolution,
        "interpolation": "bilinear",
        "antialias": not official,
        "mean": list(config.mean),
        "std": list(config.std),
    }


def write_config(folder: Path, config: CheckpointConfig) -> None:
    text = json.dumps(config.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if len(data := text.encode("utf-8")) > MAX_BYTES[CONFIG_FILE]:
        raise TNetError("The provenance and class names are too large for a checkpoint (more than 16 MB).")
    write_atomically(folder / CONFIG_FILE, lambda path: path.write_bytes(data))


def read_config(folder: Path) -> CheckpointConfig:
    """Read and check `config.json`; every problem is one sentence that names the file."""
    path = folder / CONFIG_FILE
    value = read_json(path, MAX_BYTES[CONFIG_FILE])
    try:
        return _parse(value)
    except TNetError as error:
        raise TNetError(f"'{path}' cannot be used: {error}") from None


def _parse(value: Any) -> CheckpointConfig:
    if not isinstance(value, dict) or "schema" not in value or "model" not in value:
        raise TNetError("it is not a TNet checkpoint's (it needs the fields 'schema' and 'model').")
    schema = value["schema"]
    if type(schema) is not int or schema != SCHEMA:
        raise TNetError(f"its schema is {schema!r:.40}, but this version reads schema {SCHEMA}.")
    unknown = sorted(set(value) - _FIELDS)
    if unknown:
        raise TNetError(f"it has unknown field(s): {', '.join(name[:40] for name in unknown[:5])}.")
    model = TNetConfig.from_dict(value["model"])
    config = CheckpointConfig(
        model,
        check_class_names(value.get("class_names", []), model.num_classes),
        check_provenance(value.get("provenance", {})),
    )
    expected = config.to_json()
    for name in ("preprocessing", "trained_budget"):
        if name in value and value[name] != expected[name]:
            raise TNetError(f"its field '{name}' contradicts its field 'model'.")
    return config


def check_class_names(names: Any, num_classes: int) -> tuple[str, ...]:
    """Distinct, printable names, one per class; none at all is allowed and means unknown."""
    if isinstance(names, (str, bytes)) or not isinstance(names, Sequence):
        raise TNetError("Class names must be a list of texts.")
    if not names:
        return ()
    if len(names) != num_classes:
        raise TNetError(f"There are {len(names)} class names for {num_classes} classes.")
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        if not isinstance(name, str) or not name.strip():
            raise TNetError(f"Class name {index} is {name!r:.40}, but must be a text that is not empty.")
        if len(name) > MAX_NAME_LENGTH or not name.isprintable():
            raise TNetError(f"Class name {index} must be one printable line of at most {MAX_NAME_LENGTH} characters.")
        if name in seen:
            raise TNetError(f"Classes {seen[name]} and {index} have the same name '{name}'; make them different.")
        seen[name] = index
    return tuple(names)


def check_provenance(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TNetError("Provenance must be a mapping of names to JSON values.")
    try:
        check_json(value)
    except TNetError as error:
        raise TNetError(f"Provenance cannot be stored: {error}") from None
    return dict(value)
