"""A trace can be checked again, and a changed number is found and named."""

from __future__ import annotations

from pathlib import Path

import pytest
from PIL import Image

import tnet_core as tn
from tests.support.models import TINY, TINY_3L, picture, tiny
from tnet_core.__main__ import main
from tnet_core.replay import replay


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    path = tmp_path / "photo.png"
    Image.fromarray(picture(150, 200, seed=6)).save(path)
    return path


@pytest.mark.parametrize(("config", "budget"), [(TINY, (4,)), (TINY_3L, (2, 2))])
@pytest.mark.parametrize("policy", ["learned", "random:4"])
@pytest.mark.parametrize("sampling", ["official", "native"])
def test_a_replay_of_the_same_passes(
    photo: Path, config: tn.TNetConfig, budget: tuple[int, ...], policy: str, sampling: str
) -> None:
    trace = tn.traverse(tiny(config), photo, budget=budget, policy=policy, sampling=sampling)
    again = replay(tn.Trace.from_json(trace.to_json()), tiny(config), photo)
    assert [look.path for look in again.locations] == [look.path for look in trace.locations]


def test_steered_traces_can_be_replayed(photo: Path) -> None:
    traversal = tn.Traversal(tiny(TINY_3L), photo, budget=(2, 1))
    traversal.attend(2, 8)
    traversal.attend(3, 4, parent=0)
    replay(tn.Trace.from_json(traversal.run().to_json()), tiny(TINY_3L), photo)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("features.body.conv_stem", "distributions"),
        ("location.output", "distributions"),
        ("positional.linear", "features"),
        ("classifier.linear", "projections"),
        ("weighting.output", "weights"),
    ],
)
def test_changed_weights_fail_and_the_first_number_is_named(photo: Path, name: str, number: str) -> None:
    trace = tn.Trace.from_json(tn.traverse(tiny(), photo, budget=(3,)).to_json())
    changed = tn.build(TINY)
    changed.load_state_dict(tiny().state_dict())
    changed.get_submodule(name).weight.data[0] += 0.5
    with pytest.raises(tn.TNetError, match=rf"The replay failed: {number}.* in the trace, but .* now"):
        replay(trace, changed, photo)


def test_another_image_or_model_is_refused(photo: Path) -> None:
    trace = tn.traverse(tiny(), photo)
    with pytest.raises(tn.TNetError, match="sha256"):
        replay(trace, tiny(), picture())
    with pytest.raises(tn.TNetError, match="configuration differs"):
        replay(trace, tiny(TINY_3L), photo)


def test_the_command_line_passes_and_fails(photo: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, other = str(tn.save(tiny(), tmp_path / "a")), str(tn.save(tiny(seed=2), tmp_path / "b"))
    out = str(tmp_path / "trace.json")
    assert main([str(photo), "--checkpoint", folder, "--json", out]) == 0
    assert main(["replay", out, "--image", str(photo), "--checkpoint", folder]) == 0
    assert "The replay passed: 3 looks" in capsys.readouterr().out
    assert main(["replay", out, "--image", str(photo), "--checkpoint", other]) == 2
    assert "error: The replay failed: distributions[0].logits[0, 0] is" in capsys.readouterr().err
    assert main(["replay", str(tmp_path / "none.json"), "--image", str(photo)]) == 2
    assert "cannot be read" in capsys.readouterr().err
