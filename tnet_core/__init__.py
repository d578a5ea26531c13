"""TNet ("Hard-Attention for Scalable Image Classification", NeurIPS 2021) in PyTorch.

import tnet_core as tn

model = tn.build(tn.preset("cub-b0"))            # or tn.load("folder")
trace = tn.traverse(model, "bird.jpg", budget=(5,))
trace.locations, trace.logits(k=3), trace.contributions(trace.prediction)
"""

from tnet_core import checkpoints, compare, explain, official
from tnet_core.build import build, default_device
from tnet_core.checkpoints import load, save
from tnet_core.cost import count_parameters, flops
from tnet_core.errors import TNetError
from tnet_core.imageio import ImageSource
from tnet_core.inference import policies
from tnet_core.inference.optimise.optimised import optimised
from tnet_core.inference.traversal import Traversal, traverse
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.presets import preset, presets
from tnet_core.modeling.tnet import TNet, TrainOutput
from tnet_core.records import Contributions, Cost, Distribution, Location, Step
from tnet_core.trace import Trace

__version__ = "0.2.0"  # the only place; CITATION.cff and CHANGELOG.md are held to it by a test

__all__ = [
    "Contributions",
    "Cost",
    "Distribution",
    "ImageSource",
    "Location",
    "Step",
    "TNet",
    "TNetConfig",
    "TNetError",
    "Trace",
    "TrainOutput",
    "Traversal",
    "build",
    "checkpoints",
    "compare",
    "count_parameters",
    "default_device",
    "explain",
    "flops",
    "load",
    "official",
    "optimised",
    "policies",
    "preset",
    "presets",
    "save",
    "traverse",
]
