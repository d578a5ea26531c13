"""What the tests of the landing page share."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page

import tnet_core as tn
from viz.examples import EXAMPLES_FOLDER

Open = Callable[..., Page]
PETS = "tnet-lite0-pets"
OPENING = 2  # looks that the checkpoint was trained with


def traverse_example(name: str, checkpoint: str = PETS) -> tn.Trace:
    model = tn.optimised(tn.load(checkpoint, device="cpu"))
    return tn.traverse(model, EXAMPLES_FOLDER / name, budget=(25,))
