"""The numbers the paper printed, as data: one CSV per table, percentages as printed.

`ablation.csv` and `policy.csv` are the smaller tables (ablations; precision, recall and coverage). `peers.csv` holds
what others published of methods that also choose where to look, each with its source (`peer_rows`).
A recipe names the rows of its model: "cub:TNet-B0", "fmow:TNet:448" (input side),
"fmow:EfficientNet-B0:224:boxes" (trained on the annotated boxes), "ablation:VARIANT".
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from tnet_core.errors import TNetError

TABLES = ("imagenet", "fmow", "cub", "nabirds", "ablation")
_FOLDER = Path(__file__).parent
_BELOW = {4: (2, 1), 6: (2, 2)}  # fMoW at 896 px: locations in all -> looks per grid


@dataclass(frozen=True)
class PaperRow:
    """One line of a table; what it does not state is None."""

    model: str
    locations: int | None  # None: a plain classifier
    budget: tuple[int, ...]  # looks per grid; empty for a plain classifier
    top1: float  # percent
    top5: float | None = None
    gflops: float | None = None
    params_m: float | None = None
    ms_per_image: float | None = None  # batches of 64 on one Quadro RTX 8000
    memory_gb: float | None = None


@dataclass(frozen=True)
class AttentionRow:
    """Precision, recall and coverage in percent after some locations at the second level, and the accuracy there."""

    locations: int
    precision: float
    recall: float
    coverage: float
    top1: float


@dataclass(frozen=True)
class PeerRow:
    """A number that others published; their pictures, training and counting of FLOPs are their own."""

    dataset: str  # as the tables of the paper are called, or "pets"
    model: str
    backbone: str
    pretraining: str  # empty where the source does not state it
    gflops: float | None
    top1: float  # percent
    source: str
    second_hand: bool  # not read in the publication itself


@lru_cache(maxsize=1)
def peer_rows() -> tuple[PeerRow, ...]:
    """Read the rows of others, in the order of the file."""
    found = []
    for row in read_table("peers"):
        top1 = _read_number(row["top1"])
        if top1 is None or row["how_known"] not in ("read there", "second hand"):
            raise TNetError(f"A row of peers.csv cannot be used: {row}.")
        pretraining = "" if row["pretraining"] == "unknown" else row["pretraining"]
        found.append(
            PeerRow(
                row["dataset"], row["model"], row["backbone"], pretraining, _read_number(row["gflops"]), top1,
                row["source"], row["how_known"] == "second hand",
            )
        )  # fmt: skip
    return tuple(found)


@lru_cache(maxsize=8)
def read_table(name: str) -> tuple[dict[str, str], ...]:
    """Return the lines of a CSV, as texts."""
    with (_FOLDER / f"{name}.csv").open(newline="", encoding="utf-8") as file:
        return tuple(csv.DictReader(file))


def paper_rows(selector: str) -> dict[tuple[int, ...], PaperRow]:
    """Return the rows of one model by looks per grid, as a recipe's field 'paper' names it."""
    table, _, rest = selector.partition(":")
    if table not in TABLES or not rest:
        raise TNetError(f"{selector!r:.80} names no rows of the paper; write 'TABLE:MODEL', TABLE one of {TABLES}.")
    model, *further = [rest] if table == "ablation" else rest.split(":")
    rows = [row for row in read_table(table) if _fits(table, row, model, further)]
    if not rows:
        raise TNetError(f"The paper's table '{table}' has no model '{rest:.60}'.")
    found = [_read_row(table, row) for row in rows]
    return {row.budget: row for row in found}


def list_selectors(table: str) -> tuple[str, ...]:
    """Return every model of a table as `paper_rows` takes it, in the order of the table."""
    found: dict[str, None] = {}
    for row in read_table(table):
        name = f"{table}:{row['variant' if table == 'ablation' else 'model']}"
        if table == "fmow":
            # The thumbnail alone belongs to the two-level model.
            side = "448" if row["model"] == "TNet" and row["locations"] == "0" else row["input_px"]
            name += f":{side}" + (":boxes" if row["boxes"] == "yes" else "")
        found[name] = None
    return tuple(found)


def _fits(table: str, row: dict[str, str], model: str, further: list[str]) -> bool:
    if row["variant" if table == "ablation" else "model"] != model:
        return False
    if table != "fmow":
        return not further
    if (row["boxes"] == "yes") != ("boxes" in further):
        return False
    sides = [int(text) for text in further if text.isdigit()]
    # The thumbnail alone (224 px, 0 locations) belongs to the two-level model.
    alone = model == "TNet" and row["locations"] == "0" and 448 in sides
    return not sides or int(row["input_px"]) in sides or alone


def _read_row(table: str, row: dict[str, str]) -> PaperRow:
    locations = _read_number(row["locations"])
    count = None if locations is None else int(locations)
    if count is None:
        budget: tuple[int, ...] = ()
    elif table == "fmow" and row["input_px"] == "896":
        budget = _BELOW[count]
    else:
        budget = (count,)
    top1 = _read_number(row["top1"])
    assert top1 is not None  # every line of every table has it
    return PaperRow(
        model=row["variant"] if table == "ablation" else row["model"],
        locations=count,
        budget=budget,
        top1=top1,
        top5=_read_number(row.get("top5", "")),
        gflops=_read_number(row.get("gflops", "")),
        params_m=_read_number(row.get("params_m", "")),
        ms_per_image=_read_number(row.get("ms_per_image", "")),
        memory_gb=_read_number(row.get("memory_gb", "")),
    )


def attention_rows(selector: str) -> dict[int, AttentionRow]:
    """Return precision, recall and coverage of the data set of a selector, by locations; {} if not stated."""
    names = {"imagenet": "ImageNet", "fmow": "fMoW"}
    wanted = names.get(selector.partition(":")[0])
    if wanted is None or "TNet" not in selector:
        return {}
    return {
        int(row["locations"]): AttentionRow(
            locations=int(row["locations"]),
            precision=float(row["precision"]),
            recall=float(row["recall"]),
            coverage=float(row["coverage"]),
            top1=float(row["top1"]),
        )
        for row in read_table("policy")
        if row["dataset"] == wanted
    }


def _read_number(text: str) -> float | None:
    return float(text) if text else None
