"""The whole page with the bundled checkpoints, in a thread of this process."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from pages.explorer import Explorer
from pages.site import head, site, theme
from tests.support.comparison_page import LAUNCH
from tnet_core.checkpoints import CheckpointCard
from tnet_core.checkpoints.registry_offer import Shelf


class Shelved(Shelf):
    """A shelf with cards of checkpoints that have no model."""

    more: list[CheckpointCard]

    def cards(self) -> list[CheckpointCard]:
        return [*super().cards(), *self.more]


@contextmanager
def served(explorer: Explorer, port: int) -> Iterator[str]:
    demo = site(explorer)
    demo.launch(server_port=port, theme=theme(), head=head(), prevent_thread_lock=True, **LAUNCH)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        demo.close(verbose=False)
