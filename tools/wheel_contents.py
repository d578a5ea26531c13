"""What the wheel holds beside the code of `tnet_core`: the checkpoints that take looks, and a registry of them.

Hatchling calls this while it builds a wheel. Baselines, which take no looks, are compared with in the app alone.
"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import yaml
from hatchling.builders.hooks.plugin.interface import BuildHookInterface

INSIDE = "tnet_core/bundled"  # where tnet_core/checkpoints/registry.py looks first


class WheelContents(BuildHookInterface[Any]):
    """Add the bundled checkpoints to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Name what is to be added; an editable installation reads the clone's own files."""
        if version == "editable":
            return
        root = Path(self.root)
        registry, folders = choose_checkpoints(root)
        with tempfile.NamedTemporaryFile("w", suffix=".yaml", delete=False, encoding="utf-8") as file:
            file.write(registry)
        self._registry = Path(file.name)
        build_data["force_include"][file.name] = f"{INSIDE}/checkpoints.yaml"
        for folder in folders:
            build_data["force_include"][str(root / folder)] = f"{INSIDE}/{folder}"

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the registry that the wheel has a copy of."""
        if version != "editable":
            self._registry.unlink()


def choose_checkpoints(root: Path) -> tuple[str, list[str]]:
    """Return the text of a registry that lists only checkpoints that take looks, and their folders."""
    registry = yaml.safe_load((root / "checkpoints.yaml").read_text(encoding="utf-8"))
    chosen = [entry for entry in registry["checkpoints"] if takes_looks(root / entry["source"]["folder"])]
    text = yaml.safe_dump({**registry, "checkpoints": chosen}, sort_keys=False, allow_unicode=True)
    return text, [entry["source"]["folder"] for entry in chosen]


def takes_looks(folder: Path) -> bool:
    """Return whether the model of a checkpoint folder has a level below the thumbnail."""
    levels: int = json.loads((folder / "config.json").read_text(encoding="utf-8"))["model"]["levels"]
    return levels > 1
