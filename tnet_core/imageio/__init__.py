"""Where pixels come from: files of any size, arrays and Pillow images, decoded or read in parts."""

from tnet_core.imageio.source import ArraySource, ImageSource

__all__ = ["ArraySource", "ImageSource"]
