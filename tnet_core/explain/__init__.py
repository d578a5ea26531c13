"""Exact explanations of a decision, all re-aggregated from a trace's cached features.

A look's feature vector does not depend on which other looks were taken, so leaving a look out is
exact, not an approximation: no gradients, no sampling, no backbone.
"""

from tnet_core.explain.ablation import (
    LeaveOneOut,
    SignDisagreement,
    SignViolation,
    leave_one_out,
    necessity,
    sign_disagreements,
    sign_violations,
    sufficiency,
)
from tnet_core.explain.curves import deletion, greedy_deletion, greedy_insertion, insertion, random_orders
from tnet_core.explain.faithfulness import Course, Faithfulness, area, faithfulness
from tnet_core.explain.shapley import interactions, shapley_values
from tnet_core.stopping import Stop, adaptive_stop

__all__ = [
    "Course",
    "Faithfulness",
    "LeaveOneOut",
    "SignDisagreement",
    "SignViolation",
    "Stop",
    "adaptive_stop",
    "area",
    "deletion",
    "faithfulness",
    "greedy_deletion",
    "greedy_insertion",
    "insertion",
    "interactions",
    "leave_one_out",
    "necessity",
    "random_orders",
    "shapley_values",
    "sign_disagreements",
    "sign_violations",
    "sufficiency",
]
