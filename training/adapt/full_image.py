"""What the backbone says by itself about a whole image: the target of adaptation without labels.

The image is what the TNet is given, S x S, reduced by averaging the pixels that fall into each pixel of
the resolution the backbone was trained at. Averaging, because bilinear reduction with antialiasing blurs
more than the pictures that classifiers are trained on (see README.md in this folder for the comparison).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from tnet_core.errors import TNetError
from tnet_core.modeling.tnet import TNet
from training.data.sample import ImageDataset, Sample
from training.evaluation.stream import batches


@torch.inference_mode()
def full_prediction(model: TNet, images: Tensor, side: int) -> Tensor:
    """Probabilities of the classes by backbone and classifier alone: (B, 3, S, S) in [-1, 1] -> (B, classes)."""
    images = images.to(model.device)
    reduced = images if images.shape[2] == side else F.interpolate(images, (side, side), mode="area")
    _, vectors = model.features(reduced.contiguous(memory_format=torch.channels_last))
    probabilities = model.classifier(vectors).float().softmax(1).cpu()
    if not bool(torch.isfinite(probabilities).all()):
        raise TNetError("The backbone's predictions are not finite: its weights are damaged.")
    return probabilities


def sharpened(probabilities: np.ndarray, temperature: float) -> np.ndarray:
    """Predictions as at a lower temperature of their softmax: (images, classes).

    At low resolution a network is surer of itself than at the one it was trained at. As they are, its full-image
    predictions would then be approached best by looks that show nothing, which only make it less sure.
    """
    scaled = np.asarray(probabilities, np.float64) ** (1 / temperature)
    return (scaled / scaled.sum(1, keepdims=True)).astype(np.float32)


def stream(
    model: TNet, dataset: ImageDataset, side: int | None, batch_size: int, workers: int
) -> Iterator[tuple[Tensor, Tensor]]:
    """Images with their targets: predictions at that side (B, classes), or labels (B,) where it is None."""
    for batch in batches(dataset, range(len(dataset)), model.config, batch_size, workers):
        assert isinstance(batch.images, Tensor)
        yield batch.images, batch.labels if side is None else full_prediction(model, batch.images, side)


class FullImageLabels:
    """A data set whose labels are what the backbone says about the whole images.

    Accuracy on it is agreement with that prediction, and its split says so.
    """

    def __init__(self, dataset: ImageDataset, labels: Sequence[int], side: int) -> None:
        if len(labels) != len(dataset):
            raise TNetError(f"There are {len(labels)} predictions for {len(dataset)} images.")
        self._dataset = dataset
        self.name, self.class_names, self.labels = dataset.name, dataset.class_names, tuple(labels)
        self.split = f"{dataset.split}, agreement with the backbone's own prediction for the whole image at {side} px"

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Sample:
        return replace(self._dataset[index], label=self.labels[index])
