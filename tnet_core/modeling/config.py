"""`TNetConfig`: everything that defines a TNet (or a baseline) apart from its weights."""

from __future__ import annotations

import dataclasses
import itertools
import typing
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, ValidationError, create_model

from tnet_core.errors import TNetError, state_problem

_Share = Annotated[float, Field(ge=0, le=0.99)]
_Scale = Annotated[float, Field(ge=0.05, le=8)]
_Positive = Annotated[float, Field(gt=0)]
Sampling = Literal["official", "native"]
Precision = Literal["float32", "bfloat16", "float16"]  # that a backbone computes in; the last on CUDA alone


@dataclass(frozen=True)
class LocationMap:
    """Which module's output the location module reads, and which of its rows (= columns)."""

    block: str
    rows: Annotated[tuple[Annotated[int, Field(ge=0)], ...], Field(min_length=2)]
    channels: Annotated[int, Field(ge=1)]
    output: Annotated[int, Field(ge=0)] = 0  # which of the tensors the module returns
    channels_last: bool = False


@dataclass(frozen=True)
class BackboneSurvey:
    """What a run of the backbone showed, kept with a checkpoint so that loading it needs no such run."""

    key: str  # sha256 of the built backbone and of the settings it was found for; another key, and it is found anew
    width: Annotated[int, Field(ge=1)]  # of the feature vector V
    map: LocationMap | None  # None: a baseline


@dataclass(frozen=True, repr=False)
class TNetConfig:
    """A frozen, hashable description of a model; `dataclasses.replace` makes variants of it."""

    backbone: str = "tf_efficientnet_b0"  # any timm CNN, or "bagnet77"
    num_classes: Annotated[int, Field(ge=1, le=100_000)] = 1000
    input_size: Annotated[int, Field(ge=16, le=65_536)] = 448  # side S of the square input in official sampling
    base_resolution: Annotated[int, Field(ge=16, le=4096)] = 224  # side of every image that enters the backbone
    grid: Annotated[int, Field(ge=2, le=32)] = 5  # n: candidate cells per side
    cell_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.35  # side of a cell as a share of its image
    levels: Annotated[int, Field(ge=1, le=12)] = 2  # processing levels; the thumbnail is level 1
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

    dropout: _Share = 0.0  # drop probability, training only
    dropout_at: Literal["classifier", "features"] = "classifier"
    drop_path: _Share = 0.0  # stochastic depth of the last block, training only
    bn_momentum: Annotated[float, Field(ge=0, le=1)] | None = None  # PyTorch sense; None keeps the backbone's own
    backbone_scale: tuple[_Scale, _Scale] | None = None  # (width, depth) multipliers; EfficientNet only

    # The backbone's own normalisation of pixels in [0, 1]; 0.5 and 0.5 is the official [-1, 1].
    mean: tuple[float, float, float] = (0.5, 0.5, 0.5)
    std: tuple[_Positive, _Positive, _Positive] = (0.5, 0.5, 0.5)

    # Preset it came from, for display only: two configurations that differ in nothing else are equal.
    name: str = field(default="", compare=False)
    # Filled in when a model is built; a checkpoint keeps it beside the other fields (`tnet_core.schemas.checkpoint`).
    survey: BackboneSurvey | None = field(default=None, compare=False, repr=False)

    def __post_init__(self) -> None:
        _check_values(self)

    def __repr__(self) -> str:
        """Return the fields that differ from their defaults, as one would write them."""
        given = {f.name: getattr(self, f.name) for f in _WRITTEN if getattr(self, f.name) != f.default}
        return f"TNetConfig({', '.join(f'{name}={value!r}' for name, value in given.items())})"

    @property
    def is_baseline(self) -> bool:
        """True for a plain classifier on the whole image: no grid, no looks."""
        return self.location == "none"

    @property
    def cells(self) -> int:
        return self.grid * self.grid

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values, `from_dict` reads them back."""
        values = {f.name: getattr(self, f.name) for f in _WRITTEN}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def from_dict(cls, data: Any) -> TNetConfig:
        if not isinstance(data, dict):
            raise TNetError("A model configuration must be a mapping of field names to values.")
        names = {f.name for f in _WRITTEN}
        unknown = sorted(str(key) for key in data if key not in names)
        if unknown:
            raise TNetError(f"Unknown field(s) in the model configuration: {', '.join(unknown[:5])}.")
        values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in data.items()}
        return cls(**values)


_WRITTEN = [f for f in dataclasses.fields(TNetConfig) if f.repr]
# Types and ranges are those of the annotations above; pydantic holds a configuration to them.
_FIELDS = create_model(
    "_FIELDS",
    __config__=ConfigDict(strict=True, allow_inf_nan=False),
    **{name: (hint, ...) for name, hint in typing.get_type_hints(TNetConfig, include_extras=True).items()},
)  # type: ignore[call-overload]


def _check_values(cfg: TNetConfig) -> None:
    try:
        _FIELDS.model_validate(vars(cfg))
    except ValidationError as error:
        raise TNetError(state_problem(error, "Configuration field ")) from None
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
