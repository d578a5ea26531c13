"""`config.json`: everything about a checkpoint except its tensors and its accuracy.

    {
      "schema": 1,
      "model": {...},              TNetConfig, field by field
      "preprocessing": {...},      derived from the model, for readers that are not this project
      "trained_budget": [5],       derived from the model, likewise
      "class_names": [...],        one per class, or empty when unknown
      "calibration": {...},        optional: the temperature of shown probabilities, its error before and after
      "stopping": {...},           optional, two levels: the recommended rule (least, most, threshold)
      "survey": {...},             optional: what a run of the backbone showed, its location map
      "provenance": {...}          any JSON values
    }

Provenance is free. Tools look for these keys, all optional: `recipe`, `dataset`, `commit`, `seed`,
`licence` (of the weights), `data_licence`, `base_model`, `citation`.

A further setting is one more field of `CheckpointConfig`, with the default that older files mean.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, model_validator

from tnet_core.errors import TNetError
from tnet_core.modeling.config import BackboneSurvey, TNetConfig
from tnet_core.schemas.base import Many, ModelConfig, Schema, SchemaNumber, make_line_check
from tnet_core.schemas.files import CONFIG_FILE, MAX_BYTES, write_atomically
from tnet_core.schemas.text import check_json
from tnet_core.stopping import Calibration, StoppingRule

check_class_name = make_line_check(200)


def _check_free(value: dict[str, Any]) -> dict[str, Any]:
    check_json(value)
    return value


class CheckpointConfig(Schema):
    """The content of a valid `config.json`."""

    schema_number: SchemaNumber = Field(alias="schema")
    model: ModelConfig
    preprocessing: dict[str, Any] | None = None
    trained_budget: tuple[int, ...] | None = None
    class_names: Many[Annotated[str, AfterValidator(check_class_name)]] = ()
    calibration: Calibration | None = None
    stopping: StoppingRule | None = None
    survey: BackboneSurvey | None = None
    provenance: Annotated[dict[str, Any], AfterValidator(_check_free)] = Field(default_factory=dict)

    @classmethod
    def describe(cls, model: TNetConfig, class_names: Sequence[str] = (), **settings: Any) -> Self:
        """Return the configuration of a model with its derived fields filled in."""
        derived = {
            "preprocessing": describe_preprocessing(model),
            "trained_budget": model.budget,
            "survey": model.survey,
        }
        return cls.make(schema=1, model=model, class_names=tuple(class_names), **derived, **settings)

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        classes = self.model.num_classes
        if self.class_names and len(self.class_names) != classes:
            raise ValueError(f"has {len(self.class_names)} class names for {classes} classes")
        seen: dict[str, int] = {}
        for index, name in enumerate(self.class_names):
            if seen.setdefault(name, index) != index:
                raise ValueError(f"has the name '{name}' for the classes {seen[name]} and {index}; make them different")
        if self.preprocessing is not None and self.preprocessing != describe_preprocessing(self.model):
            raise ValueError("has a field 'preprocessing' that contradicts its field 'model'")
        if self.trained_budget is not None and self.trained_budget != self.model.budget:
            raise ValueError("has a field 'trained_budget' that contradicts its field 'model'")
        if self.stopping is not None and (self.model.levels != 2 or self.stopping.most > self.model.cells):
            raise ValueError("has a field 'stopping' that its model cannot follow (two levels, as many looks as cells)")
        return self

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values that `read` accepts."""
        content = self.model_dump(mode="json", by_alias=True)
        newer = {name for name in ("calibration", "stopping", "survey") if content[name] is None}
        return {name: value for name, value in content.items() if name not in newer}  # so that older versions read it


def describe_preprocessing(config: TNetConfig) -> dict[str, Any]:
    """Return how pixels become the network's input, in words and numbers another program can follow."""
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
    """Write `config.json` in one step."""
    text = json.dumps(config.to_json(), indent=2, ensure_ascii=False, allow_nan=False) + "\n"
    if len(data := text.encode("utf-8")) > MAX_BYTES[CONFIG_FILE]:
        raise TNetError("The provenance and class names are too large for a checkpoint (more than 16 MB).")
    write_atomically(folder / CONFIG_FILE, lambda path: path.write_bytes(data))


def read_config(folder: Path) -> CheckpointConfig:
    """Read and check `config.json`; every problem is one sentence that names the file."""
    return CheckpointConfig.read_file(folder / CONFIG_FILE, MAX_BYTES[CONFIG_FILE])
