"""Needles: large generated canvases whose class only a few small glyphs tell."""

from training.data.needles.dataset import NeedlesDataset
from training.data.needles.symbols import SYMBOL_NAMES

__all__ = ["SYMBOL_NAMES", "NeedlesDataset"]
