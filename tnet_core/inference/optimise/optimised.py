"""`optimised(model)`: a copy that looks faster and says the same.

On the CPU a backbone spends its time on convolutions, on reading and writing what is between them, and on getting
from one to the next. Here batch norms are folded (`folding`), activations and sums run inside the
convolution before them (`fusing`), and the backbone becomes a flat list of calls that can be stopped at the
location map (`program`). On CUDA batch norms are folded, and graphs are there on request.
"""

from __future__ import annotations

import torch
from timm.layers import BatchNormAct2d
from torch import Tensor, nn

from tnet_core.errors import TNetError
from tnet_core.inference.cuda_graphs import graphed
from tnet_core.inference.optimise.folding import Joined, alike, example_of, folded_with_pairs, said
from tnet_core.inference.optimise.fusing import INSIDE, Fused, one_dnn_runs, rewritten
from tnet_core.inference.optimise.program import Program, recorded
from tnet_core.modeling.tnet import TNet


def optimised(model: TNet, *, graphs: bool = False) -> TNet:
    """A copy for inference, on the same device; the model stays as it is.

    Logits agree within 1e-3. The copy keeps its own weights: change, move or train the original, and make a
    new copy. `graphs` replays a CUDA backbone (`tnet_core.inference.cuda_graphs`): for one traversal at a time.
    """
    if model.training:
        raise TNetError("The model is in training mode; call model.eval() before making an optimised copy of it.")
    made, pairs = folded_with_pairs(model)
    if graphs:
        return graphed(made)
    if model.device.type == "cpu" and one_dnn_runs() and model.classifier.linear.weight.dtype == torch.float32:
        for pair in pairs:
            _put_inside(*pair)
        made.features.program = _flat(made)
    return made


def _put_inside(conv: nn.Conv2d, norm: nn.BatchNorm2d) -> None:
    """From now on the convolution activates too, and the batch norm hands on what it is given."""
    activation = norm.act if isinstance(norm, BatchNormAct2d) else nn.Identity()
    if type(activation) in INSIDE:
        assert isinstance(conv.forward, Joined)
        conv.forward = Fused(conv.forward, activation)  # type: ignore[assignment, method-assign]
        norm.forward = _handed_on  # type: ignore[assignment, method-assign]


def _handed_on(x: Tensor) -> Tensor:
    return x


def _flat(model: TNet) -> Program | None:
    """None where a list of calls cannot say what the backbone does; then it runs as it is."""
    features = model.features
    try:
        with torch.inference_mode(False), features.tapped() as maps:  # there, tensors tell whether they were changed
            example = example_of(model).contiguous(memory_format=torch.channels_last)
            recording = recorded(features.body, example, lambda: maps)
        program = rewritten(recording).program()
        return program if _agrees(model, program) else None
    except Exception:  # whatever a list of calls cannot do, the backbone itself can
        return None


@torch.no_grad()
def _agrees(model: TNet, program: Program) -> bool:
    """Whether other batches, begun apart and finished together, give what the backbone gives for all of them."""
    base = model.config.base_resolution
    images = torch.randn((3, 3, base, base), generator=torch.Generator().manual_seed(0))
    images = images.contiguous(memory_format=torch.channels_last)
    parts = [program.begin(part) for part in images.split([1, 2])]
    maps = [location_map for location_map, _ in parts if location_map is not None]
    found_map = [torch.cat(maps)] if maps else []  # a copy, as it is when it is read
    found = [program.finish(torch.cat([carried for _, carried in parts])), *found_map]
    return all(alike(a, b) for a, b in zip(said(model, images), found, strict=True))
