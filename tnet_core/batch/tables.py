"""A trace as rows of two tables, one row per image and one per look, and these as Parquet files.

In `looks` row 0 of an image is the thumbnail and row k its k-th look, as in `Trace.to_frame`. Nothing in them
depends on the time, so that a repeated run writes the same rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from tnet_core.errors import TNetError
from tnet_core.schemas.files import write_atomically

if TYPE_CHECKING:
    from tnet_core.batch.files import ListedImage
    from tnet_core.trace import Trace

# column -> Arrow's type
IMAGE_COLUMNS = {
    "image": "int64",  # number in the list, from 0
    "file": "string",  # relative to the folder, or as the list has it
    "width": "int32",
    "height": "int32",
    "label": "string",  # the class that the folder or the list names
    "true_class": "int32",  # its number in the checkpoint; null where the checkpoint does not know it
    "prediction": "int32",  # with all looks
    "predicted": "string",
    "probability": "float64",
    "correct": "bool",
    "looks": "int32",
    "precision": "string",  # that the backbone computed in, as read back from the engine
    "error": "string",  # why the image could not be read; all but its name is null then
}
LOOK_COLUMNS = {
    "image": "int64",
    "file": "string",
    "look": "int32",  # 0 is the thumbnail
    "level": "int32",
    "cell": "int32",
    "parent": "int32",  # the look it lies in, by its number here
    "x0": "float64",
    "y0": "float64",
    "x1": "float64",
    "y1": "float64",
    "rank": "int32",
    "logit": "float64",
    "lift": "float64",
    "weight": "float64",  # among all looks
    "contribution": "float64",  # to the logit of the predicted class, with all looks
    "true_contribution": "float64",  # to that of the true class, where it is known
    "prediction": "int32",  # after this look
    "predicted": "string",
    "probability": "float64",  # of that class, after this look
}


def make_text(name: str) -> str:
    """Return a file's name as valid UTF-8; bytes that are not are written as backslash escapes."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")


def make_image_row(number: int, image: ListedImage, trace: Trace, true_class: int | None) -> dict[str, Any]:
    """Return the row of one image in the table of images."""
    best = trace.prediction
    return {
        "image": number,
        "file": make_text(image.name),
        "width": trace.image.width,
        "height": trace.image.height,
        "label": None if image.label is None else make_text(image.label),
        "true_class": true_class,
        "prediction": best,
        "predicted": trace.class_name(best),
        "probability": float(trace.probabilities()[best]),
        "correct": None if true_class is None else best == true_class,
        "looks": len(trace.locations),
        "precision": trace.precision,
    }


def make_error_row(number: int, image: ListedImage, error: str) -> dict[str, Any]:
    """Return the row of an image that could not be read."""
    label = None if image.label is None else make_text(image.label)
    return {"image": number, "file": make_text(image.name), "label": label, "error": make_text(error)}


def make_look_rows(number: int, image: ListedImage, trace: Trace, true_class: int | None) -> list[dict[str, Any]]:
    """Return the rows of one image's thumbnail and looks."""
    weights = trace.weights()
    shares = trace.contributions(trace.prediction).values
    true_shares = None if true_class is None else trace.contributions(true_class).values
    rows = []
    for k in range(len(trace.locations) + 1):
        probabilities = trace.probabilities(k)
        best = int(trace.logits(k).argmax())
        row: dict[str, Any] = {"image": number, "file": make_text(image.name), "look": k, "level": 1}
        box = (0.0, 0.0, 1.0, 1.0)
        if k > 0:
            look = trace.locations[k - 1]
            box = look.box
            row |= {"level": look.level, "cell": look.index, "parent": 0 if look.parent is None else look.parent + 1}
            row |= {"rank": look.rank, "logit": look.logit, "lift": look.lift}
        row |= dict(zip(("x0", "y0", "x1", "y1"), box, strict=True))
        row |= {"weight": float(weights[k]), "contribution": float(shares[k])}
        row |= {"true_contribution": None if true_shares is None else float(true_shares[k])}
        row |= {"prediction": best, "predicted": trace.class_name(best), "probability": float(probabilities[best])}
        rows.append(row)
    return rows


def import_parquet() -> Any:
    """Return pyarrow.parquet, or say how to get it."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise TNetError(
            "Tables of looks need pyarrow: pip install '.[batch]' in the clone, or pip install pyarrow."
        ) from None
    return pyarrow.parquet


def write_rows(path: Path, rows: list[dict[str, Any]], columns: dict[str, str]) -> None:
    """Write rows as a Parquet file, in one step; columns that a row lacks are null."""
    parquet = import_parquet()
    import pyarrow as pa

    schema = pa.schema([(name, getattr(pa, "bool_" if kind == "bool" else kind)()) for name, kind in columns.items()])
    table = pa.table({name: [row.get(name) for row in rows] for name in columns}, schema=schema)

    def write(temporary: Path) -> None:
        with temporary.open("wb") as file:
            parquet.write_table(table, file)

    write_atomically(path, write)
