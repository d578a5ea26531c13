"""Many images: one trace after another, and pictures as the tensors that `model(x)` takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from dataclasses import replace
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from tqdm import tqdm

from tnet_core.building import check_model
from tnet_core.errors import TNetError
from tnet_core.imageio.source import ImageSource
from tnet_core.inference.traversal import traverse
from tnet_core.modeling.config import Sampling, TNetConfig
from tnet_core.modeling.tnet import TNet
from tnet_core.sampling.frame import Sampler
from tnet_core.stopping import StoppingRule
from tnet_core.trace import Trace


def traverse_many(
    model: TNet,
    images: Iterable[Any],
    budget: Sequence[int] | int | None = None,
    policy: Any = "learned",
    levels: int | Literal["auto"] | None = None,
    *,
    sampling: Sampling | None = None,
    stop: StoppingRule | bool | None = None,
    progress: bool = True,
) -> Iterator[Trace]:
    """Yield the trace of each image in turn; the arguments are those of `traverse`.

    Only the current image and trace are in memory: keep what you need of a trace (`to_json`, `logits`), or
    `list(...)` them all. `progress` shows a bar on a terminal. An image that cannot be read ends the iteration
    with a sentence that names its place.
    """
    check_model(model)
    is_one = isinstance(images, (str, bytes, ImageSource)) or (
        isinstance(images, (np.ndarray, Tensor)) and images.ndim < 4
    )
    if is_one or not isinstance(images, Iterable):
        raise TNetError("traverse_many takes several images, for instance a list of paths; for one use traverse.")

    def run() -> Iterator[Trace]:
        total = len(images) if isinstance(images, Sized) else None
        shown = tqdm(images, total=total, desc="traversing", unit="image", disable=None if progress else True)
        for number, image in enumerate(shown, start=1):
            try:
                yield traverse(model, image, budget, policy, levels, sampling=sampling, stop=stop)
            except TNetError as error:
                raise TNetError(f"Image {number}: {error}") from None

    return run()


def transform(config: TNetConfig) -> Callable[[Any], Tensor]:
    """Return a function from a picture, as `traverse` takes it, to the (3, S, S) tensor in [-1, 1] of `model(x)`.

    The picture is resized as in official sampling: bilinear, without antialiasing, aspect ratio not kept. Stack
    several for a batch: `model(torch.stack([to_tensor(image) for image in images]))`.
    """
    if not isinstance(config, TNetConfig):
        raise TNetError(f"A transform is made for a TNetConfig, such as model.config, not for {config!r:.60}.")
    whole = replace(config, base_resolution=config.input_size, location_rows=None, location_block=None)

    def to_tensor(image: Any) -> Tensor:
        sampler = Sampler(ImageSource.open(image), whole, "official")
        values, _ = sampler.read(sampler.whole())  # (S, S, 3)
        return torch.from_numpy(values).permute(2, 0, 1).contiguous()

    return to_tensor
