"""`python -m benchmarks.families`: which of timm's families of CNNs the engine takes, with random weights.

Each is converted, run with other numbers of crops than it was traced with and compared with PyTorch, as
`tn.optimised` does; here in one process, so that forty of them take minutes.
"""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

import tnet_core as tn
from tnet_core.inference import conversion
from tnet_core.modeling.features import FeatureExtractionModule

FAMILIES = (
    "resnet18", "resnet50d", "resnext50_32x4d", "wide_resnet50_2", "seresnet50", "ecaresnet26t", "skresnet18",
    "resnest14d", "res2net50_26w_4s", "regnetx_002", "regnety_002", "densenet121", "vgg11_bn", "inception_v3",
    "xception41", "dpn68", "dla34", "hrnet_w18_small", "vovnet39a", "cspresnet50", "cspdarknet53", "darknet53",
    "efficientnet_b0", "tf_efficientnet_b0", "tf_efficientnet_lite0", "tf_efficientnetv2_b0", "mixnet_s", "mnasnet_100",
    "mobilenetv2_100", "mobilenetv3_small_100", "mobilenetv4_conv_small", "lcnet_050", "ghostnet_100", "fbnetc_100",
    "rexnet_100", "repvgg_a0", "convnext_atto", "nf_resnet50", "gernet_s", "hardcorenas_a",
)  # fmt: skip


def convert_here(name: str) -> str:
    """Return what became of a family: 'engine', 'PyTorch: why', or 'refused: the sentence'."""
    config = tn.TNetConfig(backbone=name, num_classes=5, input_size=256, base_resolution=128, grid=3,
                           cell_fraction=0.5, budget=(2,))  # fmt: skip
    try:
        features = FeatureExtractionModule(config).eval()
    except tn.TNetError as error:
        return f"refused: {error}"
    with tempfile.TemporaryDirectory() as folder:
        try:
            problem = conversion.answer(conversion.make_request(config, features, "float32", Path(folder)))
        except Exception as error:
            problem = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
    return f"PyTorch: {problem}" if problem else "engine"


def main() -> int:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or FAMILIES:
        print(f"| {name} | {convert_here(name)} |", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
