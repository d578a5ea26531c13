"""What `import tnet_core as tn` offers: every public name, from where it is defined."""

from tnet_core import checkpoints, compare, explain, official
from tnet_core.building import build, default_device
from tnet_core.checkpoints import load, save
from tnet_core.checkpoints.pretrained import from_pretrained, push_to_hub, save_pretrained
from tnet_core.cost import count_parameters, flops
from tnet_core.errors import TNetError
from tnet_core.imageio import ImageSource
from tnet_core.inference import policies
from tnet_core.inference.engine import optimised
from tnet_core.inference.many import transform, traverse_many
from tnet_core.inference.resume import resume
from tnet_core.inference.traversal import Traversal, traverse
from tnet_core.modeling.config import TNetConfig
from tnet_core.modeling.presets import preset, presets
from tnet_core.modeling.tnet import TNet, TrainOutput
from tnet_core.records import Contributions, Cost, Distribution, Location, Step
from tnet_core.stopping import Calibration, StoppingRule, StopPoint
from tnet_core.trace import Trace

# The Hub's way of loading and sharing, as methods: `modeling` knows nothing of the Hub and only declares their types.
for _name, _method in {
    "from_pretrained": staticmethod(from_pretrained),
    "save_pretrained": save_pretrained,
    "push_to_hub": push_to_hub,
}.items():
    setattr(TNet, _name, _method)

__all__ = [
    "Calibration",
    "Contributions",
    "Cost",
    "Distribution",
    "ImageSource",
    "Location",
    "Step",
    "StopPoint",
    "StoppingRule",
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
    "resume",
    "save",
    "transform",
    "traverse",
    "traverse_many",
]
