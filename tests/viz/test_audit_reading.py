"""What an audit takes out of an evaluation, and what it leaves out of one that is damaged."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from tests.support.checkpoints import EVALUATION
from tests.support.evaluation_cards import bundled, card
from tnet_core.checkpoints import CheckpointCard
from viz.audit.data import Audit, compute_entropy
from viz.audit.page import render_audit
from viz.audit.reading import read_audit

ROOT = Path(__file__).parents[2]
CARDS = {about.source: about for about in bundled()}
LOOKING = [name for name in CARDS if name.startswith("tnet")]


def content(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "checkpoints" / name / "evaluation.json").read_text())


def audit_of(folder: Path, changed: dict[str, Any]) -> Audit:
    found = read_audit(card(folder, changed))
    assert found is not None
    return found


@pytest.mark.parametrize("name", LOOKING)
def test_every_number_is_that_of_the_file(name: str) -> None:
    raw, audit = content(name), read_audit(CARDS[name])
    assert audit is not None and audit.heat is not None and audit.typical is not None
    heat, written = audit.heat, raw["heat_map"]
    assert [list(heat.where.taken[k]) for k in sorted(heat.where.taken)] == written["taken"]
    cells = written["grid"] ** 2
    assert heat.where.lift == pytest.approx([p * cells for p in written["probability"]])
    assert list(heat.centre_bias.values()) == written["centre_bias"]["after_looks"]
    assert heat.at_centre == written["centre_bias"]["first_look_at_centre"]
    assert heat.at_favourite == written["centre_bias"]["first_look_at_mean_favourite"]
    assert heat.entropy == written["centre_bias"]["entropy_of_first_look"]
    assert heat.where.entropy == pytest.approx(heat.entropy, abs=1e-4)  # computed from the counts, the same
    assert heat.more_classes == 0 and len(heat.classes) == len(written["per_class"])
    for entry, found in zip(written["per_class"], heat.classes, strict=True):
        assert (found.top1, found.thumbnail) == (entry["top1"], entry["top1_thumbnail"])
        assert (found.centre_bias, found.where.images) == (entry["centre_bias"], entry["images"])
        assert list(found.where.taken[1]) == entry["taken_1"]
        assert list(found.where.taken[raw["trained_budget"][0]]) == entry["taken_trained"]
    assert len(audit.budgets) == sum(row["budget"][0] > 0 for row in raw["budgets"])
    for row in audit.budgets:
        at = [entry["budget"] for entry in raw["budgets"]].index(list(row.budget))
        for policy in ("learned", "mean", "centre", "random", "oracle"):
            assert row.top1[policy] == raw["policies"][policy]["top1"][at]
        for policy in ("mean", "centre", "random"):
            compared = raw["comparisons"][f"learned-{policy}"]
            assert row.lost[policy].value == compared["difference"][at]
            assert list(row.lost[policy].interval or ()) == compared["interval"][at]
        assert row.gap is not None and row.gap.value == raw["comparisons"]["oracle-learned"]["difference"][at]
        field = "gap_to_surest" if "gap_to_surest" in raw else "gap_closed"
        share = raw[field]["share"][at]
        assert row.reference == ("surest" if field == "gap_to_surest" else "oracle")
        assert (row.closed.value if row.closed else None) == share
    assert [list(item) for item in audit.typical.most] == [list(i.values()) for i in raw["typical"]["most"]]
    assert audit.agreement is ("agreement" in raw) and audit.confidence == 0.95
    assert audit.trained == tuple(raw["trained_budget"])


def test_the_gap_is_told_against_the_surest_looks_where_a_file_has_them(tmp_path: Path) -> None:
    raw = content("tnet-lite0-cub")
    count = len(raw["budgets"])
    raw["policies"]["surest"] = raw["policies"]["centre"]
    raw["comparisons"]["learned-surest"] = {"difference": [0.02] * count, "interval": [[-0.01, 0.05]] * count}
    raw["gap_to_surest"] = {"share": [1.5] * count, "interval": [[0.9, 2.1]] * count}
    audit = read_audit(card(tmp_path, raw))
    assert audit is not None
    row = audit.budgets[0]
    assert row.closed is not None and (row.closed.value, row.reference) == (1.5, "surest")
    assert row.lost["surest"].value == 0.02 and row.top1["surest"] == row.top1["centre"]
    shown = render_audit(audit)
    assert "from the centre to the surest looks it goes <b>150\N{NO-BREAK SPACE}%</b>" in shown
    assert "&#34;surest of all&#34;" in shown


def test_a_model_without_looks_and_one_without_evaluation_say_so() -> None:
    plain = read_audit(CARDS["en-lite0-cub-160"])
    assert plain is not None and plain.plain
    assert "there are no looks, and no policy to audit" in render_audit(plain)
    assert read_audit(CheckpointCard(source="x", origin="here")) is None
    assert "&lt;i&gt; was never evaluated" in render_audit(None, "<i>")


def test_an_evaluation_with_nothing_but_accuracies_gets_a_sentence_per_panel(tmp_path: Path) -> None:
    audit = audit_of(tmp_path, EVALUATION)
    assert audit.heat is None and audit.typical is None and not audit.moves
    assert [row.budget for row in audit.budgets] == [(1,), (3,)]
    shown = render_audit(audit)
    assert shown.count('<section class="audit-card"') == 4 and shown.count('class="audit-missing"') == 3
    assert shown.count("Not measured:") == 3


def test_damaged_parts_are_left_out_and_the_others_stay(tmp_path: Path) -> None:
    raw = content("tnet-needles")
    raw["heat_map"]["taken"][2] = [1] * 8  # a cell is missing: this row and those behind it go
    raw["heat_map"]["per_class"][0]["taken_1"] = [10**6] * 9  # more images than there are
    raw["heat_map"]["per_class"][1] = "ring"
    raw["heat_map"]["per_class"][3]["name"] = raw["heat_map"]["per_class"][2]["name"]
    raw["heat_map"]["centre_bias"]["after_looks"][1] = "0.2"
    raw["heat_map"]["centre_bias"]["first_look_at_centre"] = 1.2
    raw["heat_map"]["probability"] = [0.5] * 9  # adds up to 4.5
    raw["comparisons"]["learned-mean"]["interval"][4] = [0.5, 0.4]
    raw["comparisons"]["learned-centre"]["difference"] = {"1": 2}
    raw["gap_to_surest"]["share"][4] = True
    raw["typical"]["most"] = [
        {"name": "a\nb", "score": 0.5},
        {"name": 3, "score": 0.1},
        {"name": "x", "score": 2},
        None,
    ]
    raw["policies"]["oracle"] = {"left_out": "<b>too deep</b>"}
    raw["intervals"] = []
    audit = audit_of(tmp_path, raw)
    heat = audit.heat
    assert heat is not None and sorted(heat.where.taken) == [1, 2] and heat.where.lift is None
    assert sorted(heat.centre_bias) == [1, 3, 4] and heat.at_centre is None and heat.at_favourite == 0.21
    assert heat.more_classes == 1 and sorted(heat.classes[0].where.taken) == [3]
    assert heat.classes[2].name == f"{heat.classes[1].name} (2)"
    row = next(row for row in audit.budgets if list(row.budget) == raw["budgets"][4]["budget"])
    assert row.lost["mean"].interval is None and "centre" not in row.lost and row.closed is None
    assert audit.typical is not None and audit.typical.most == (("a b", 0.5),)
    assert audit.confidence is None and audit.left_out == {"oracle": "<b>too deep</b>"}
    shown = render_audit(audit)
    assert "<b>too deep" not in shown and "1 more class is not shown" in shown


WRONG: list[Any] = [None, True, -1, 10**400, 1e300, "x", "<script>", [], [None], {}, {"a": []}, [[[]]], [-1] * 25]


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Paths to all values; of long lists only the ends."""
    found = [path] if path else []
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    listed = list(children)
    for key, child in listed if isinstance(value, dict) else [*listed[:2], *listed[-1:]]:
        found += places(child, (*path, key))
    return found


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tnet-needles", "tnet-lite0-imagenet"])
def test_no_damage_breaks_the_page(name: str, tmp_path: Path) -> None:
    whole = content(name)
    whole["heat_map"]["per_class"] = whole["heat_map"]["per_class"][:3]
    whole["equivariance"] = MOVES
    unread = ("schema", "dataset", "budgets", "attention", "stopping", "per_image", "run")
    tried = [path for path in places(whole) if path[0] not in unread]
    generator = random.Random(0)
    about = card(tmp_path, whole)
    assert about.evaluation is not None and len(tried) > 150
    for path in tried:
        at: Any = about.evaluation.raw
        for key in path[:-1]:
            at = at[key]
        good, wrong = at[path[-1]], generator.choice(WRONG)
        at[path[-1]] = wrong
        shown = render_audit(read_audit(about))
        at[path[-1]] = good
        assert "<script>" not in shown and "nan" not in shown.replace("finance", ""), (path, wrong)


MOVES = {
    "about": "How first grids follow content.",
    "score": 0.31,
    "score_interval": [0.25, 0.37],
    "transforms": {
        "flip": {
            "about": "mirrored left to right",
            "images": 590,
            "score": 0.62,
            "score_interval": [0.58, 0.66],
            "first_look": {"images": 500, "followed": 0.5, "followed_interval": [0.45, 0.55], "stayed": 0.125},
        },
        "shift_left": {"about": "<shifted>", "images": 597, "score": -0.2, "score_interval": [-0.4, 0.1]},
    },
}


@pytest.mark.slow
def test_moves_are_shown_where_they_were_measured(tmp_path: Path) -> None:
    raw = content("tnet-lite0-cub") | {"equivariance": MOVES}
    audit = audit_of(tmp_path, raw)
    assert [move.about for move in audit.moves] == ["all of them", "mirrored left to right", "<shifted>"]
    assert [move.score.value for move in audit.moves] == [0.31, 0.62, -0.2]
    assert audit.moves[1].followed is not None and audit.moves[1].followed.interval == (0.45, 0.55)
    assert audit.moves[0].followed is None and audit.moves[2].stayed is None
    assert not audit.moves[2].score.is_clear and audit.moves[1].score.is_clear
    shown = render_audit(audit)
    assert "&#34;value&#34;:0.62,&#34;interval&#34;:[0.58,0.66]" in shown
    assert "&lt;shifted&gt;" in shown and "<shifted>" not in shown


def test_entropy_is_a_share_of_the_largest_possible() -> None:
    assert compute_entropy((5.0, 0.0, 0.0, 0.0)) == 0
    assert compute_entropy((2.0, 2.0, 2.0, 2.0)) == pytest.approx(1)
    assert compute_entropy((1.0, 1.0, 0.0, 0.0)) == pytest.approx(0.5)
    assert compute_entropy((0.0, 0.0)) is None
