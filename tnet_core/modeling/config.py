"""`TNetConfig`: everything that defines a TNet (or a baseline) apart from its weights."""

from __future__ import annotations

import dataclasses
import itertools
import math
import typing
from dataclasses import dataclass, field
from typing import Any, Literal

from tnet_core.errors import TNetError


def fits(value: Any, hint: Any) -> bool:
    """True when `value` is of the declared type; whole numbers are accepted for floats."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return True
    if origin is Literal:
        return isinstance(value, str) and value in args
    if origin is tuple:
        if not isinstance(value, tuple):
            return False
        if args[-1] is Ellipsis:
            return all(fits(item, args[0]) for item in value)
        return len(value) == len(args) and all(fits(v, a) for v, a in zip(value, args, strict=True))
    if origin is dict:
        return isinstance(value, dict) and all(fits(k, args[0]) and fits(v, args[1]) for k, v in value.items())
    if args:  # X | None
        return any(fits(value, option) for option in args)
    if hint is float:
        if isinstance(value, int):  # a whole number too large for a float is none of ours
            return not isinstance(value, bool) and abs(value) < 2**53
        return isinstance(value, float) and math.isfinite(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, hint)


def described(hint: Any) -> str:
    """A declared type in words a user can read: "int", "tuple[int, ...]", "one of 'a', 'b'"."""
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(repr(option) for option in typing.get_args(hint))
    return str(getattr(hint, "__name__", hint) if not typing.get_args(hint) else hint).replace("typing.", "")


Sampling = Literal["official", "native"]


@dataclass(frozen=True)
class TNetConfig:
    """A frozen, hashable description of a model; `dataclasses.replace` makes variants of it."""

    backbone: str = "tf_efficientnet_b0"  # any timm CNN, or "bagnet77"
    num_classes: int = 1000
    input_size: int = 448  # side S of the square input in official sampling
    base_resolution: int = 224  # side of every image that enters the backbone
    grid: int = 5  # n: candidate cells per side
    cell_fraction: float = 0.35  # side of a cell as a share of its image
    levels: int = 2  # processing levels; the thumbnail is level 1
    budget: tuple[int, ...] = (5,)  # looks per grid it was trained with, one entry per level below the first
    sampling: Sampling = "official"  # where crops come from (see tnet_core.sampling.frame)

    # "se": fMoW and birds; "context": ImageNet; "none": a plain classifier (baseline)
    location: Literal["se", "context", "none"] = "se"
    # "silu": V' = SiLU(V + W p); "additive": V' = V + W p; "concat": V' = W [V; p]; "none": V' = V
    positional: Literal["silu", "additive", "concat", "none"] = "silu"
    weighting: bool = True  # learned weights of the average (birds) or a plain mean

    # Where the location module reads the backbone. None: the rule of tnet_core.modeling.location_map.
    location_block: str | None = None
    location_rows: tuple[int, ...] | None = None

    dropout: float = 0.0  # drop probability, training only
    dropout_at: Literal["classifier", "features"] = "classifier"
    drop_path: float = 0.0  # stochastic depth of the last block, training only
    bn_momentum: float | None = None  # PyTorch sense; None keeps the backbone's own
    backbone_scale: tuple[float, float] | None = None  # (width, depth) multipliers; EfficientNet only

    # The backbone's own normalisation of pixels in [0, 1]; 0.5 and 0.5 is the official [-1, 1].
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[float, float, float] = (0.5, 0.5, 0.5)

    # Preset it came from, for display only: two configurations that differ in nothing else are equal.
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _check_types(self)
        _check_values(self)

    @property
    def is_baseline(self) -> bool:
        """True for a plain classifier on the whole image: no grid, no looks."""
        return self.location == "none"

    @property
    def cells(self) -> int:
        return self.grid * self.grid

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, `from_dict` reads them back."""
        return {
            key: list(value) if isinstance(value, tuple) else value for key, value in dataclasses.asdict(self).items()
        }

    @classmethod
    def from_dict(cls, data: Any) -> TNetConfig:
        if not isinstance(data, dict):
            raise TNetError("A model configuration must be a mapping of field names to values.")
        names = {f.name for f in dataclasses.fields(cls)}
        unknown = sorted(str(key) for key in data if key not in names)
        if unknown:
            raise TNetError(f"Unknown field(s) in the model configuration: {', '.join(unknown[:5])}.")
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return cls(**values)


_HINTS = typing.get_type_hints(TNetConfig)


def _check_types(cfg: TNetConfig) -> None:
    for name, hint in _HINTS.items():
        value = getattr(cfg, name)
        if not fits(value, hint):
            raise TNetError(f"Configuration field '{name}' is {value!r:.80}, but must be {described(hint)}.")


def _check_values(cfg: TNetConfig) -> None:
    def within(name: str, low: float, high: float) -> None:
        value = getattr(cfg, name)
        if not low <= value <= high:
            raise TNetError(f"Configuration field '{name}' is {value}, but must lie in {low}…{high}.")

    within("num_classes", 1, 100_000)
    within("base_resolution", 16, 4096)
    within("input_size", 16, 65_536)
    within("grid", 2, 32)
    within("levels", 1, 12)
    within("dropout", 0.0, 0.99)
    within("drop_path", 0.0, 0.99)
    if not 0.0 < cfg.cell_fraction < 1.0:
        raise TNetError(f"Configuration field 'cell_fraction' is {cfg.cell_fraction}, but must lie between 0 and 1.")
    if any(s <= 0 for s in cfg.std):
        raise TNetError("Configuration field 'std' must hold three positive numbers.")
    if cfg.bn_momentum is not None:
        within("bn_momentum", 0.0, 1.0)
    if cfg.backbone_scale is not None and not all(0.05 <= s <= 8 for s in cfg.backbone_scale):
        raise TNetError("Configuration field 'backbone_scale' must hold two multipliers in 0.05…8.")
    if cfg.is_baseline:
        if cfg.levels != 1 or cfg.budget or cfg.weighting or cfg.positional != "none":
            raise TNetError(
                "A baseline (location='none') has one level, an empty budget, no weighting and no positional module."
            )
        return
    if len(cfg.budget) != cfg.levels - 1:
        raise TNetError(
            f"Configuration field 'budget' has {len(cfg.budget)} entries, but {cfg.levels} levels need "
            f"{cfg.levels - 1} (one per level below the first)."
        )
    if not all(0 <= k <= cfg.cells for k in cfg.budget):
        raise TNetError(f"Each entry of 'budget' must lie in 0…{cfg.cells}, the cells of a {cfg.grid}x{cfg.grid} grid.")
    if (cfg.location_block is None) != (cfg.location_rows is None):
        raise TNetError("Give both 'location_block' and 'location_rows', or neither to let the rule choose.")
    rows = cfg.location_rows
    if rows is not None and (len(rows) != cfg.grid or any(b <= a for a, b in itertools.pairwise(rows))):
        raise TNetError(f"'location_rows' must hold {cfg.grid} increasing row numbers, one per grid row.")
