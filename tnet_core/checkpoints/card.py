"""`CheckpointCard`: what is known about a loaded checkpoint, apart from the model itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.tnet import TNet
from tnet_core.schemas.evaluation import Evaluation
from tnet_core.schemas.files import format_size
from tnet_core.schemas.registry import Entry, FileDigest
from tnet_core.stopping import Calibration, StoppingRule


@dataclass(frozen=True)
class CheckpointCard:
    """Attached to a model as `model.card`."""

    source: str  # registry id, folder name, or hf:owner/name@commit
    origin: str  # one sentence: where the files were found and who vouches for them
    title: str = ""
    description: str = ""
    repo: str | None = None  # on the Hub
    commit: str | None = None  # full commit of that repository
    verified: bool = False  # every file matched the hash in a registry
    files: dict[str, FileDigest] = field(default_factory=dict)  # known hashes of what was loaded
    licence_weights: str = ""
    licence_data: str = ""
    citation: str = ""
    numbers: str = ""  # where its accuracy comes from
    config: TNetConfig | None = None
    class_names: tuple[str, ...] = ()
    calibration: Calibration | None = None  # how sure it is; None: nobody measured it
    stopping: StoppingRule | None = None  # recommended
    provenance: dict[str, Any] = field(default_factory=dict)
    evaluation: Evaluation | None = None

    def text(self) -> str:
        """Return several lines for a terminal; nothing in them can control it."""
        rows: list[tuple[str, str]] = [("source", self.source), ("origin", self.origin)]
        rows += [("title", self.title), ("about", self.description)]
        if self.config is not None:
            rows.append(("model", describe(self.config)))
        if self.class_names:
            few = ", ".join(self.class_names[:3])
            rows.append(("classes", f"{few}{', …' if len(self.class_names) > 3 else ''} ({len(self.class_names)})"))
        rows += [("calibration", "" if self.calibration is None else self.calibration.describe())]
        rows += [("stopping", "" if self.stopping is None else self.stopping.describe())]
        rows += [("weights licence", self.licence_weights), ("data licence", self.licence_data)]
        rows += [("citation", self.citation), ("numbers", self.numbers)]
        rows += [(name, f"{format_size(d.size)}, sha256 {d.sha256}") for name, d in self.files.items()]
        rows += [(f"from: {_strip_control(key)}", json.dumps(value)) for key, value in self.provenance.items()]
        if self.evaluation is not None:
            rows.append(("evaluated on", self.evaluation.where))
            rows += [(f"  {list(r.budget)}", _format_result(r)) for r in self.evaluation.results]
        width = max(len(name) for name, _ in rows)
        return "\n".join(f"{name:<{width}}  {_strip_control(value)}" for name, value in rows if value)


def registry_card(entry: Entry) -> CheckpointCard:
    """Return the card of an entry as far as the registry knows it."""
    place = f"bundled {entry.where}" if entry.folder is not None else entry.where
    return CheckpointCard(
        source=entry.id,
        origin=f"Registry '{entry.registry.name}', {place}, every file checked by its hash.",
        title=entry.title,
        description=entry.description,
        repo=entry.hub.repo if entry.hub else None,
        commit=entry.hub.commit if entry.hub else None,
        verified=True,
        files=entry.files,
        licence_weights=entry.licence.weights,
        licence_data=entry.licence.data,
        citation=entry.citation,
        numbers=entry.numbers,
    )


def card_of(model: TNet) -> CheckpointCard:
    """Return the card of a model; one that was never loaded has a card that says so."""
    if isinstance(model.card, CheckpointCard):
        return model.card
    return CheckpointCard(source=model.source, origin="Not loaded from a checkpoint.", config=model.config)


def describe(config: TNetConfig) -> str:
    """Return one line about an architecture."""
    if config.is_baseline:
        return f"plain {config.backbone} classifier, {config.num_classes} classes, {config.base_resolution} px"
    looks = " x ".join(str(k) for k in config.budget) or "0"
    return (
        f"{config.levels}-level TNet on {config.backbone}, {config.num_classes} classes, {config.grid}x{config.grid} "
        f"grid, {config.base_resolution} px per look, trained with {looks} looks"
    )


def _format_result(result: Any) -> str:
    parts = [f"top-1 {100 * result.top1:.2f} %"]
    if result.top5 is not None:
        parts.append(f"top-5 {100 * result.top5:.2f} %")
    if result.flops is not None:
        parts.append(f"{result.flops / 1e9:.2f} GFLOPs")
    return ", ".join(parts)


def _strip_control(text: str) -> str:
    return "".join(c if c.isprintable() else " " for c in text).rstrip()
