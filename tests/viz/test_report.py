"""What a file that leaves the page says about its origin."""

from __future__ import annotations

import base64
import re
from pathlib import Path

from PIL import Image
from pillow_heif import from_pillow

import tnet_core as tn
from tests.support.models import picture, tiny
from tnet_core.checkpoints import CheckpointCard, card_of
from tnet_core.schemas.registry import FileDigest
from viz.explore.payload import build_evidence
from viz.report.page import build_original_payload, build_report_parts

SHA = "ab" * 32


def test_a_pinned_checkpoint_is_named_with_its_hash_and_licence() -> None:
    trace = tn.traverse(tiny(), picture(), budget=(1,))
    about = CheckpointCard(
        "garden-birds", "Registry 'mine.yaml', every file checked.", title="Birds", verified=True,
        files={"model.safetensors": FileDigest(SHA, 10)}, licence_weights="apache-2.0", licence_data="CC0",
    )  # fmt: skip
    told = build_evidence(trace, about)
    assert (told["title"], told["sha256"]) == ("Birds", SHA)
    assert told["licence"] == "weights apache-2.0; data CC0"
    assert told["image"] == {"sha256": trace.image.sha256, "hashed": "pixels"}
    assert told["weights"] == ""  # the trace names them
    assert re.search(r"Python 3\.\d+.*torch \d.*trace format 1", told["versions"])


def test_weights_that_no_name_leads_to_must_be_given_to_the_replay() -> None:
    trace = tn.traverse(tiny(), picture(), budget=(1,))
    assert build_evidence(trace, CheckpointCard("mine", "The folder 'mine'."))["weights"] == "--checkpoint FOLDER"
    model = tn.build(tn.preset("lite0-cub"), seed=0)
    untrained = tn.traverse(model, picture(), budget=(0,))
    told = build_evidence(untrained, card_of(model))
    assert told["weights"] == "--preset lite0-cub" and told["sha256"] is None


def test_nothing_in_the_script_can_end_the_element_that_holds_it() -> None:
    parts = build_report_parts()
    assert "</script" not in parts["code"] and "<!--" not in parts["code"] and "</style" not in parts["style"]
    assert "@media print" in parts["style"] and "https://" not in parts["code"]


def test_a_photograph_of_a_telephone_is_sent_back_as_the_file_it_was(tmp_path: Path) -> None:
    path = tmp_path / "photo.heic"
    from_pillow(Image.new("RGB", (64, 48), "red")).save(path)
    sent = build_original_payload(path)
    assert base64.b64decode(sent["base64"]) == path.read_bytes()
    assert (sent["type"], sent["extension"]) == ("image/heic", "heic")
