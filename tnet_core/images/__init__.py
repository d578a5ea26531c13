"""Pixels: decoding, sources and the sampling rule."""

from tnet_core.images.sampling import Region, Sampler
from tnet_core.images.source import ArraySource, ImageSource

__all__ = ["ArraySource", "ImageSource", "Region", "Sampler"]
