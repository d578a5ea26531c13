"""Crops cut and resized where the model is, straight from bytes: no float copy of the image exists there.

`taps` says which bytes make a crop and what each weighs, `gather` turns them into crops (by one Triton
kernel where it runs, else by torch), `reader` chooses between that and the CPU's way, `transfer` moves
things in one copy each way, `graphs` replays the backbone at fixed shapes. `docs/gpu.md` tells more.
"""

from tnet_core.kernels.gather import gather_crops
from tnet_core.kernels.reader import reader_for
from tnet_core.kernels.taps import CropTaps

__all__ = ["CropTaps", "gather_crops", "reader_for"]
