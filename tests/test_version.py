"""The version is written in one place; what states it elsewhere agrees."""

from __future__ import annotations

import re
from pathlib import Path

import torch
import yaml

import tnet_core as tn
from tests.support.models import picture, tiny
from tnet_core.checkpoints import CheckpointCard
from training.evaluation.output import describe_run
from viz.explore.payload import build_evidence

ROOT = Path(__file__).parents[1]


def test_the_citation_states_the_version() -> None:
    assert yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))["version"] == tn.__version__


def test_the_changelog_begins_with_the_version_and_counts_downwards() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tn.__version__)
    headings = re.findall(r"^## \[?([\w.]+)", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
    released = [heading for heading in headings if heading != "Unreleased"]
    assert released[0] == tn.__version__
    numbers = [tuple(map(int, version.split("."))) for version in released]
    assert numbers == sorted(set(numbers), reverse=True)


def test_evaluations_and_reports_say_which_version_made_them() -> None:
    assert describe_run(torch.device("cpu"))["versions"]["tnet-explorer"] == tn.__version__
    trace = tn.traverse(tiny(), picture(), budget=(1,))
    assert f"TNet Explorer {tn.__version__}," in build_evidence(trace, CheckpointCard("mine", "A folder."))["versions"]
