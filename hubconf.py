"""What `torch.hub.load(FOLDER, "tnet", source="local")` finds in a clone of this repository."""

from __future__ import annotations

import tnet_core as tn

dependencies = ["cv2", "huggingface_hub", "numpy", "PIL", "pydantic", "safetensors", "timm", "torch", "yaml"]


def tnet(checkpoint: str = "tnet-lite0-imagenet", device: str | None = None) -> tn.TNet:
    """Load a checkpoint by its id in the registry, as a folder or as hf:owner/name; it is in eval mode."""
    return tn.load(checkpoint, device=device)


def untrained(preset: str = "cub-b0", seed: int = 0, device: str | None = None) -> tn.TNet:
    """Build a model of the paper with random weights; tn.presets() lists their names."""
    return tn.build(tn.preset(preset), seed=seed, device=device)
