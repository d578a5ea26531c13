"""The official TensorFlow implementation's names and layouts."""

from tnet_core.official.assign import assign
from tnet_core.official.names import Variable, official_variables

__all__ = ["Variable", "assign", "official_variables"]
