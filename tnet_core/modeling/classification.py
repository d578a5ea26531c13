"""Classification module (section 3.2): one linear layer for the joint vector and for every single look."""

from __future__ import annotations

from torch import Tensor, nn


class ClassificationModule(nn.Module):
    def __init__(self, num_features: int, num_classes: int, dropout: float) -> None:
        super().__init__()
        self.dropout = nn.Dropout(dropout)  # each call draws its own mask
        self.linear = nn.Linear(num_features, num_classes)

    def forward(self, vectors: Tensor) -> Tensor:
        """Return class logits: (B, D) -> (B, classes)."""
        return self.linear(self.dropout(vectors))
