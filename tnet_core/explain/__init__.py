"""Exact explanations of a decision, all re-aggregated from a trace's cached features.

A look's feature vector does not depend on which other looks were taken, so leaving a look out is
exact, not an approximation: no gradients, no sampling, no backbone.
"""

from tnet_core.explain.ablation import LeaveOneOut, leave_one_out, necessity, sufficiency
from tnet_core.explain.curves import deletion, insertion
from tnet_core.explain.shapley import interactions, shapley_values
from tnet_core.explain.signs import SignViolation, sign_violations
from tnet_core.explain.stopping import Stop, adaptive_stop

__all__ = [
    "LeaveOneOut",
    "SignViolation",
    "Stop",
    "adaptive_stop",
    "deletion",
    "insertion",
    "interactions",
    "leave_one_out",
    "necessity",
    "shapley_values",
    "sign_violations",
    "sufficiency",
]
