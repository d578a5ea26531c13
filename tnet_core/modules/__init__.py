"""The modules of TNet (paper, section 3.2), one file each, and the BagNet-77 backbone."""

from tnet_core.modules.bagnet import BagNet77
from tnet_core.modules.classification import ClassificationModule
from tnet_core.modules.features import FeatureExtractionModule, location_map
from tnet_core.modules.location import ContextLocationModule, LocationModule
from tnet_core.modules.positional import PositionalEncodingModule, positional_encoding
from tnet_core.modules.weighting import FeatureWeightingModule

__all__ = [
    "BagNet77",
    "ClassificationModule",
    "ContextLocationModule",
    "FeatureExtractionModule",
    "FeatureWeightingModule",
    "LocationModule",
    "PositionalEncodingModule",
    "location_map",
    "positional_encoding",
]
