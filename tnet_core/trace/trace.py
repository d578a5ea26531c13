"""`Trace`: the result of a traversal and the hub of everything that explains or shows it.

| what | shape | meaning |
|---|---|---|
| `locations` | K | the looks, in the order of `tnet_core.inference.traversal` |
| `distributions` | grids | what the location module said about each grid visited |
| `features` | (1 + K, D) | V' of the thumbnail, then of each look |
| `projections` | (1 + K, classes) | class scores of each feature alone, without bias |
| `bias` | (classes,) | of the classifier |
| `crops` | K x (b, b, 3) | what the network saw of each look |

Everything below is re-aggregated from these; no method runs the backbone.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tnet_core.budget import budget_entries
from tnet_core.building import check_model
from tnet_core.cost import compute_looks_cost
from tnet_core.errors import TNetError
from tnet_core.imageio.source import ImageSource
from tnet_core.numbers import check_entries, check_whole
from tnet_core.records import Box, Contributions, Cost, union_area
from tnet_core.sampling.frame import Frame, Region, Sampler, to_bytes
from tnet_core.schemas.trace import TraceFields
from tnet_core.stopping import compute_probabilities
from tnet_core.trace.aggregation import Aggregator
from tnet_core.trace.json import dump, parse
from tnet_core.trace.notebook import to_frame
from tnet_core.trace.restriction import restrict_trace

if TYPE_CHECKING:
    from tnet_core.modeling.tnet import TNet


@dataclass(kw_only=True, eq=False, repr=False)
class Trace(TraceFields):
    """See the module's table, and `TraceFields` for what its file holds too. Selectors of the methods below:

    `k`: the first k looks (0 = thumbnail only), None = all. `budget`: the looks a smaller budget
    would have taken, a filter on the tree of looks (from three levels on that is not a prefix).
    `subset`: positions in `locations`, any order. `context=False` leaves the thumbnail out.
    """

    aggregator: Aggregator = field(repr=False)
    seen: tuple[np.ndarray, ...] | None = field(repr=False, default=None)  # thumbnail first, uint8

    def __repr__(self) -> str:
        """Return one line: whose weights, which picture, how many looks, and what they say."""
        size, count, best = f"{self.image.width} x {self.image.height}", len(self.locations), self.prediction
        name = self.class_names[best] if self.class_names else f"class {best}"
        share = 100 * self.probabilities()[best]
        return f"Trace({self.source!r}, {size} pixels, {count} look{'s' * (count != 1)}: {name!r} {share:.1f} %)"

    def _repr_html_(self) -> str:
        """Return what a notebook shows: the looks on the thumbnail, the decision and its ledger."""
        from tnet_core.trace.notebook import render_trace  # a template engine that only notebooks need

        return render_trace(self)

    @property
    def levels(self) -> int:
        return len(self.budget) + 1

    @property
    def features(self) -> np.ndarray:
        return self.aggregator.features

    @property
    def projections(self) -> np.ndarray:
        return self.aggregator.projections

    @property
    def bias(self) -> np.ndarray:
        return self.aggregator.bias

    @property
    def thumbnail(self) -> np.ndarray:
        """(b, b, 3) uint8: the whole image at base resolution."""
        return self._get_pictures()[0]

    @property
    def crops(self) -> tuple[np.ndarray, ...]:
        """What the network saw of each look, aligned with `locations`: (b, b, 3) uint8."""
        return self._get_pictures()[1:]

    def _get_pictures(self) -> tuple[np.ndarray, ...]:
        if self.seen is None:
            raise TNetError(
                "A trace read from a file holds no pixels; call attach(model, image) to cut the crops again."
            )
        return self.seen

    # Selecting looks ---------------------------------------------------------------------------

    def select(
        self,
        k: int | None = None,
        *,
        budget: Sequence[int] | int | None = None,
        subset: Sequence[int] | None = None,
    ) -> tuple[int, ...]:
        """Return positions in `locations` that a selector means."""
        if sum(option is not None for option in (k, budget, subset)) > 1:
            raise TNetError("Give one of k, budget and subset, not several.")
        count = len(self.locations)
        if k is not None:
            return tuple(range(check_whole(k, "k", 0, count)))
        if budget is not None:
            return self._within_budget(budget)
        if subset is not None:
            members = check_entries(subset, "A subset")
            chosen = tuple(check_whole(i, "A position in a subset", 0, count - 1) for i in members)
            if len(set(chosen)) != len(chosen):
                raise TNetError("A subset names a look twice.")
            return chosen
        return tuple(range(count))

    def _within_budget(self, budget: Sequence[int] | int) -> tuple[int, ...]:
        limits = [check_whole(b, "A budget entry", 0, self.config.cells) for b in budget_entries(budget)]
        if len(limits) != len(self.budget):
            raise TNetError(f"A budget here has {len(self.budget)} entries (one per level below the first).")
        taken: dict[int | None, int] = {}  # looks already met in each grid
        kept: set[int | None] = {None}
        for position, look in enumerate(self.locations):
            order = taken.get(look.parent, 0)
            taken[look.parent] = order + 1
            if look.parent in kept and order < limits[look.level - 2]:
                kept.add(position)
        return tuple(sorted(p for p in kept if p is not None))

    def to_frame(self, cls: int | None = None) -> Any:
        """Return a pandas table, thumbnail first: place, scores, weight and share in the class's logit of each look."""
        return to_frame(self, cls)

    def only(self, positions: Sequence[int]) -> Trace:
        """Return a trace of these looks alone, in their order here; a look inside another one needs that one."""
        return restrict_trace(self, positions)

    def budgets(self) -> Iterator[tuple[int, ...]]:
        """Yield every budget up to that of the run, smallest first."""
        yield from itertools.product(*(range(b + 1) for b in self.budget))

    def _find_rows(self, selectors: dict[str, Any], context: bool) -> tuple[int, ...]:
        looks = tuple(p + 1 for p in self.select(**selectors))
        return ((0, *looks)) if context else looks

    # What the network decides ------------------------------------------------------------------

    def logits(
        self,
        k: int | None = None,
        *,
        budget: Sequence[int] | int | None = None,
        subset: Sequence[int] | None = None,
        context: bool = True,
    ) -> np.ndarray:
        """Return class logits from the selected looks: float32 (classes,)."""
        return self.aggregator.logits(self._find_rows({"k": k, "budget": budget, "subset": subset}, context))

    def probabilities(self, k: int | None = None, **selectors: Any) -> np.ndarray:
        """Return the softmax of `logits` at the checkpoint's temperature, if it has one: float64 (classes,)."""
        return compute_probabilities(self.logits(k, **selectors), self.temperature or 1.0)

    def weights(
        self,
        k: int | None = None,
        *,
        budget: Sequence[int] | int | None = None,
        subset: Sequence[int] | None = None,
        context: bool = True,
    ) -> np.ndarray:
        """Return the share of each selected look in the average, context first: float32, sum 1."""
        return self.aggregator.weights(self._find_rows({"k": k, "budget": budget, "subset": subset}, context))

    def contributions(
        self,
        cls: int | str,
        versus: int | str | None = None,
        *,
        k: int | None = None,
        budget: Sequence[int] | int | None = None,
        subset: Sequence[int] | None = None,
        context: bool = True,
    ) -> Contributions:
        """Return the exact signed share of each look in a class's logit, or in the lead of one class over another.

        A share is not an effect: without the look the others are weighed anew (`tnet_core.explain.leave_one_out`).
        """
        rows = self._find_rows({"k": k, "budget": budget, "subset": subset}, context)
        target, rival = self.class_index(cls), None if versus is None else self.class_index(versus)
        scores = self.projections[list(rows), target].astype(np.float64)
        bias = float(self.bias[target])
        if rival is not None:
            scores = scores - self.projections[list(rows), rival]
            bias -= float(self.bias[rival])
        values = self.aggregator.weights(rows).astype(np.float64) * scores
        looks = tuple(None if row == 0 else row - 1 for row in rows)
        return Contributions(target, rival, looks, values, bias)

    @property
    def prediction(self) -> int:
        """Most probable class with all looks."""
        return int(self.logits().argmax())

    def class_index(self, cls: int | str) -> int:
        """Return a class number from a number or a name."""
        if isinstance(cls, str):
            if cls not in self.class_names:
                raise TNetError(f"There is no class {cls!r:.80} in this checkpoint.")
            return self.class_names.index(cls)
        return check_whole(cls, "A class", 0, len(self.bias) - 1)

    def class_name(self, cls: int) -> str:
        return self.class_names[cls] if self.class_names else f"class {cls}"

    # Where looks could have been taken ----------------------------------------------------------

    def cell_boxes(self, parent: int | None = None) -> tuple[Box, ...]:
        """Return the box of every cell in the grid of a look (None: the thumbnail), looked at or not, row by row."""
        frame = Frame(self.image.width, self.image.height, self.config, self.sampling)
        region = frame.whole()
        if parent is not None:
            for index in self.locations[check_whole(parent, "A look's position", 0, len(self.locations) - 1)].path:
                region = frame.cell(region, index)
        return tuple(frame.box(frame.cell(region, index)) for index in range(self.config.cells))

    # What it cost ------------------------------------------------------------------------------

    def coverage(self, k: int | None = None, **selectors: Any) -> dict[int, float]:
        """Return per level below the first the share of the image inside the union of the selected boxes."""
        chosen = [self.locations[p] for p in self.select(k, **selectors)]
        return {
            level: union_area([look.box for look in chosen if look.level == level])
            for level in range(2, self.levels + 1)
        }

    def cost(
        self,
        k: int | None = None,
        *,
        budget: Sequence[int] | int | None = None,
        subset: Sequence[int] | None = None,
    ) -> Cost:
        """Return the cost of the selected looks and of all that leads to them: their parents and the thumbnail."""
        chosen = self._with_parents(self.select(k, budget=budget, subset=subset))
        opened = sum(self.locations[p].level < self.levels for p in chosen)
        flops, parameters = compute_looks_cost(self.config, len(chosen), grids=opened + (self.levels > 1))
        rows = [0, *(p + 1 for p in chosen)]
        return Cost(
            flops=flops,
            parameters=parameters,
            pixels_read=sum(self.pixels_read[row] for row in rows),
            coverage=self.coverage(subset=chosen),
            seconds=self.timing.opening + sum(self.timing.seconds[row] for row in rows),
            peak_memory=self.timing.peak_memory,
        )

    def _with_parents(self, positions: Sequence[int]) -> tuple[int, ...]:
        """Return looks with those that they were taken inside: none can be had without them."""
        needed: set[int] = set()
        for position in positions:
            at: int | None = position
            while at is not None and at not in needed:
                needed.add(at)
                at = self.locations[at].parent
        return tuple(sorted(needed))

    # Files -------------------------------------------------------------------------------------

    def attach(self, model: TNet, image: Any = None) -> Trace:
        """Give a trace read from a file its model back (for any subset) and its image (for crops).

        Checks that they are the ones it was made with. Returns itself.
        """
        check_model(model)
        if model.config != self.config:
            raise TNetError("This model's configuration differs from the one the trace was made with.")
        linear = model.classifier.linear
        weight, bias = linear.weight.detach().cpu().numpy(), linear.bias.detach().cpu().numpy()
        expected = self.features.astype(np.float64) @ weight.T.astype(np.float64)
        aggregator = Aggregator(
            self.features, self.projections, self.bias, uniform=model.weighting is None, weighting=model.weighting
        )
        everything = tuple(range(len(self.locations) + 1))
        same = np.allclose(expected, self.projections, atol=1e-3, rtol=1e-4) and np.allclose(bias, self.bias, atol=1e-5)
        if not same or not np.allclose(aggregator.logits(everything), self.logits(), atol=1e-3, rtol=1e-4):
            raise TNetError("This model's weights are not the ones the trace was made with.")
        pictures = None if image is None else self._cut_again(ImageSource.open(image))
        self.aggregator = aggregator
        self.seen = pictures if pictures is not None else self.seen
        return self

    def check_image(self, source: ImageSource) -> None:
        """Refuse an image other than the one the trace was made of.

        One that was known by its pixels may come as a file that holds the same ones.
        """
        found = source.sha256_of(self.image.hashed)
        if found is None:
            same_kind = "file (a path or its bytes)" if self.image.hashed == "file" else "array or Pillow image"
            raise TNetError(
                f"This trace knows its image by the sha256 of its {self.image.hashed}: give the {same_kind}."
            )
        if found != self.image.sha256:
            raise TNetError("This image is not the one the trace was made of: its sha256 differs.")

    def detach(self) -> Trace:
        """Return a copy that holds neither pixels nor any part of the model: what `to_json` would keep."""
        return replace(self, aggregator=self.aggregator.with_weighting(None), seen=None)

    def _cut_again(self, source: ImageSource) -> tuple[np.ndarray, ...]:
        self.check_image(source)
        return self.cut_pictures(source)

    def cut_pictures(self, source: ImageSource, first: int = 0) -> tuple[np.ndarray, ...]:
        """Cut again what the network saw, thumbnail first, from row `first` on: (b, b, 3) uint8 each."""
        sampler = Sampler(source, self.config, self.sampling)
        regions: list[Region] = [sampler.whole()]
        for look in self.locations:
            inside = regions[0] if look.parent is None else regions[look.parent + 1]
            regions.append(sampler.cell(inside, look.index))
        return tuple(to_bytes(sampler.read(region)[0]) for region in regions[first:])

    def to_json(self) -> str:
        """Return a versioned, self-describing JSON text; holds no pixels (see `tnet_core.schemas.trace`)."""
        return dump(self)

    @staticmethod
    def from_json(text: str | bytes) -> Trace:
        """Read what `to_json` wrote."""
        return parse(text, Trace)
