"""The paper: the configuration, the modules of TNet (section 3.2), one file each, and the forward that joins them."""

from tnet_core.modeling.bagnet import BagNet77
from tnet_core.modeling.classification import ClassificationModule
from tnet_core.modeling.features import FeatureExtractionModule, location_map
from tnet_core.modeling.location import ContextLocationModule, LocationModule
from tnet_core.modeling.positional import PositionalEncodingModule, positional_encoding
from tnet_core.modeling.weighting import FeatureWeightingModule

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
