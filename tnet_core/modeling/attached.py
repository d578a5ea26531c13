"""Methods that `tnet_core/api.py` gives TNet, declared here for type checkers alone.

They load and share checkpoints. The modules of the paper know nothing of files or the Hub, so their code is in
`tnet_core/checkpoints/pretrained.py`, and a test holds these signatures to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

    import torch

    from tnet_core.modeling.tnet import TNet


class AttachedMethods:
    """What `tn.TNet` can do beside the network itself."""

    if TYPE_CHECKING:

        @staticmethod
        def from_pretrained(
            pretrained_model_name_or_path: str | Path,
            *,
            revision: str | None = None,
            device: torch.device | str | None = None,
        ) -> TNet: ...

        def save_pretrained(self, save_directory: str | Path, *, half: bool = False) -> Path: ...

        def push_to_hub(
            self,
            repo_id: str,
            *,
            private: bool = False,
            commit_message: str = "Push a TNet checkpoint",
            half: bool = False,
        ) -> str: ...
