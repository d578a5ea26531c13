"""The paper's precision, recall and coverage of the looks at the second level.

With S_att the pixels inside any attended region and S_box those inside any annotated box:
precision |S_att ∩ S_box| / |S_att|, recall |S_att ∩ S_box| / |S_box|, coverage |S_att| / |image|.
Areas are exact unions; an image without a box counts for coverage only.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tnet_core.sampling.boxes import Box, union_area


def attention(looks: Sequence[Box], boxes: np.ndarray) -> tuple[float, float, float]:
    """Precision, recall and coverage of a set of looks; NaN where undefined. Boxes (n, 4), normalised."""
    attended = [box for box in looks if box[2] > box[0] and box[3] > box[1]]
    inside = [_clipped(box) for box in np.asarray(boxes, dtype=np.float64).reshape(-1, 4).tolist()]
    objects = [box for box in inside if box[2] > box[0] and box[3] > box[1]]
    area, wanted = union_area(attended), union_area(objects)
    both = area + wanted - union_area([*attended, *objects])
    precision = both / area if area > 0 and wanted > 0 else float("nan")
    recall = both / wanted if wanted > 0 else float("nan")
    return precision, recall, area


def _clipped(box: Sequence[float]) -> Box:
    x0, y0, x1, y1 = (min(max(float(value), 0.0), 1.0) for value in box)
    return x0, y0, x1, y1
