"""Run by `tests/core/test_kernels.py` with TRITON_INTERPRET=1: what Triton's kernel makes of every case.

python -m tests.support.interpreted FOLDER    # reads cases.npz and far.bin there, writes results.npz
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
import torch

import tnet_core as tn
from tnet_core.sampling.crop_taps import CropTaps, Round
from tnet_core.sampling.gather import is_triton_usable
from tnet_core.sampling.triton_gather import launch

FIELDS = ("start", "pitch", "rows", "down", "cols", "across")


def stored(name: str, pixels: np.ndarray, taps: CropTaps[np.ndarray], block: tuple[int, int]) -> dict[str, np.ndarray]:
    """A case as arrays of an npz file; no pixels: those of far.bin."""
    arrays = {f"{name}/{field}": array for field, array in zip(FIELDS, taps.arrays, strict=True)}
    how = np.array([taps.scale, taps.round, *block])
    return arrays | {f"{name}/pixels": pixels, f"{name}/how": how}


def crops(folder: Path) -> dict[str, np.ndarray]:
    with np.load(folder / "cases.npz") as file:
        held = {key: file[key] for key in file}
    far = folder / "far.bin"
    made = {}
    for name in sorted({key.partition("/")[0] for key in held if key != "picture"}):
        scale, rounding, *block = held[f"{name}/how"].tolist()
        tensors = [torch.from_numpy(held[f"{name}/{field}"]) for field in FIELDS]
        taps = CropTaps(*tensors, scale=scale, round=Round(int(rounding)))
        pixels = torch.from_numpy(held[f"{name}/pixels"])
        if pixels.numel() == 0:
            pixels = torch.from_file(str(far), shared=True, size=far.stat().st_size, dtype=torch.uint8)
        found = launch(pixels, taps, (int(block[0]), int(block[1])))
        assert found.is_contiguous(memory_format=torch.channels_last)
        made[name] = found.numpy()
    return made


def traces(folder: Path) -> dict[str, np.ndarray]:
    """Whole traversals by the kernel."""
    model = tn.load("tnet-needles")
    with np.load(folder / "cases.npz") as file:
        picture = file["picture"]
    return {
        f"trace {mode}": np.array(tn.traverse(model, picture, sampling=mode).to_json())  # type: ignore[arg-type]
        for mode in ("official", "native")
    }


if __name__ == "__main__":
    assert os.environ["TRITON_INTERPRET"] == "1" and os.environ["TNET_KERNELS"] == "on"
    assert is_triton_usable(torch.device("cpu"))
    where = Path(sys.argv[1])
    np.savez(where / "results.npz", **crops(where), **traces(where))
