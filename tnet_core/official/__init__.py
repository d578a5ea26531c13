"""The official TensorFlow implementation's names, layouts and checkpoints."""

from tnet_core.official.bundle import open_bundle, read_bundle
from tnet_core.official.convert import convert
from tnet_core.official.names import Variable, assign, official_variables

__all__ = ["Variable", "assign", "convert", "official_variables", "open_bundle", "read_bundle"]
