"""Reading recipes: what is accepted, what is refused, and how the refusal reads."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from tnet_core.errors import TNetError
from training.recipes.reading import (
    dump,
    list_recipes,
    parse,
    read_recipe,
    recipe_from_mapping,
    recipe_to_mapping,
    recipe_to_text,
)
from training.recipes.recipe import DataSection, OptimSection, Recipe


def written(folder: Path, text: str, name: str = "mine.yaml") -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


def refusal(*overrides: str, recipe: Path | str = "cub-b0") -> str:
    with pytest.raises(TNetError) as caught:
        read_recipe(recipe, overrides)
    text = str(caught.value)
    assert "\n" not in text and text.endswith(".")
    return text


def test_an_empty_section_is_filled_with_defaults_and_the_name_is_the_files(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, "epochs: 3\ndata: {root: photos}\n"))
    assert recipe == Recipe(name="mine", epochs=3.0, data=DataSection(root="photos"))


def test_a_name_of_its_own_wins(tmp_path: Path) -> None:
    assert read_recipe(written(tmp_path, "name: other\n")).name == "other"


def test_a_path_as_text_and_a_path_object_mean_the_same(tmp_path: Path) -> None:
    path = written(tmp_path, "epochs: 3\n")
    assert read_recipe(str(path)) == read_recipe(path)


def test_a_bare_name_is_a_recipe_of_the_package() -> None:
    assert "cub-b0" in list_recipes()
    assert read_recipe("cub-b0").model.preset == "cub-b0"


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    text = refusal(recipe="imagenet-bagnet")
    assert text.startswith("There is no recipe 'imagenet-bagnet' (did you mean 'imagenet-bagnet77'?); known are: ")
    assert "cub-b0" in text


def test_numbers_read_as_written_whatever_their_form(tmp_path: Path) -> None:
    text = "optim: {lr: 1e-3, backbone_lr: 1.5E-4, epsilon: '1e-8', clip_norm: 5, betas: [.5, 1e-1]}\n"
    optim = read_recipe(written(tmp_path, text)).optim
    assert optim == OptimSection(lr=1e-3, backbone_lr=1.5e-4, epsilon=1e-8, clip_norm=5.0, betas=(0.5, 0.1))
    assert isinstance(optim.clip_norm, float)


def test_no_is_a_precision_and_not_a_truth_value(tmp_path: Path) -> None:
    assert read_recipe(written(tmp_path, "precision: no\n")).precision == "no"


def test_lists_become_tuples_also_in_the_configuration(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, "model: {preset: lite0-3l, config: {budget: [3, 2]}}\n"))
    assert recipe.model.config == {"budget": (3, 2)}
    assert recipe.config.budget == (3, 2)
    assert recipe.config.name == "lite0-3l"


def test_overrides_reach_every_depth() -> None:
    recipe = read_recipe(
        "cub-b0",
        ["epochs=5", "data.root=/photos", "model.config.dropout=0.1", "data.needles.clutter=0.5", "optim.lr=1e-5",
         "freeze.modules=[features, location]", "optim.clip_norm=", "init.tag=in1k", "provenance.licence=MIT"],
    )  # fmt: skip
    assert (recipe.epochs, recipe.data.root, recipe.config.dropout, recipe.optim.lr) == (5, "/photos", 0.1, 1e-5)
    assert recipe.data.needles.clutter == 0.5
    assert recipe.freeze.modules == ("features", "location")
    assert recipe.optim.clip_norm is None
    assert recipe.provenance["licence"] == "MIT"
    assert recipe.provenance["dataset"] == "CUB-200-2011"


def test_the_last_override_of_a_key_counts() -> None:
    assert read_recipe("cub-b0", ["epochs=5", "epochs=6"]).epochs == 6


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("epochs", "'epochs' is not a change of the form key=value, such as optim.lr=1e-4."),
        ("=3", "'=3' is not a change of the form key=value, such as optim.lr=1e-4."),
        ("optim..lr=3", "'optim..lr=3' is not a change of the form key=value, such as optim.lr=1e-4."),
        ("epochs.x=3", "unknown key 'epochs.x': 'epochs' is not a section."),
        ("optim.lrr=3", "unknown key 'optim.lrr' (did you mean 'optim.lr'?)."),
        ("lr=3", "unknown key 'lr' (did you mean 'optim.lr'?)."),
        ("optim.epochs=3", "unknown key 'optim.epochs' (did you mean 'epochs'?)."),
        ("model.config.dropuot=0.1", "unknown key 'model.config.dropuot' (did you mean 'model.config.dropout'?)."),
        ("model.config.name=x", "unknown key 'model.config.name' (did you mean 'name'?)."),
        ("data.needles.canvass=9", "unknown key 'data.needles.canvass' (did you mean 'data.needles.canvas'?)."),
        ("zzzzzz=1", "unknown key 'zzzzzz'."),
        ("base=cub-b1", "unknown key 'base'."),
        ("data=7", "'data' is 7, but must be a mapping of fields."),
        ("data.needles=[]", "'data.needles' is [], but must be a mapping of fields."),
        ("epochs=many", "'epochs' is 'many', but must be a number."),
        ("epochs=.inf", "'epochs' is '.inf', but must be a number."),
        ("epochs=true", "'epochs' is True, but must be a number."),
        ("seed=1.5", "'seed' is 1.5, but must be a whole number."),
        ("data.root=5", "'data.root' is 5, but must be a text."),
        ("augment.flip=1", "'augment.flip' is 1, but must be true or false."),
        ("augment.aspect=[1]", "'augment.aspect[1]' is missing."),
        ("optim.method=sgd", "'optim.method' is 'sgd', but must be 'adam' or 'adamw'."),
        ("model.config.budget=5", "'model.config.budget' is 5, but must be a list."),
        ("provenance.licence=3", "'provenance.licence' is 3, but must be a text."),
        ("optim.lr=[", "the value of 'optim.lr' cannot be read: it is not valid YAML: "),
        ("optim.lr={a: 1, a: 2}", "the key 'a' appears twice"),
    ],
)
def test_what_cannot_be_read_is_named(override: str, message: str) -> None:
    text = refusal(override)
    assert text.startswith("Recipe 'cub-b0': ")
    assert message in text


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ("epochs=-1", "'epochs' is -1, but must be more than 0."),
        ("epochs=0", "'epochs' is 0, but must be more than 0."),
        ("seed=-1", "'seed' is -1, but must be at least 0."),
        ("name=a/b", "'name' is 'a/b', but must be letters, digits, '.', '_' and '-'."),
        ("batch_size=0", "'batch_size' is 0, but must be at least 1."),
        ("accumulate=5", "'batch_size' (64) must be divisible by 'accumulate' (5)."),
        ("ema=1", "'ema' is 1, but must be less than 1."),
        ("validate_every=-1", "'validate_every' is -1, but must be at least 0."),
        ("validation_images=0", "'validation_images' is 0, but must be at least 1."),
        ("data.holdout=1", "'data.holdout' is 1, which leaves nothing to train on; it must be 0 or at least 2."),
        ("data.holdout=-2", "'data.holdout' is -2, but must be at least 0."),
        ("data.workers=-1", "'data.workers' is -1, but must be at least 0."),
        ("data.workers=5000", "'data.workers' is 5000, but must be at most 256."),
        ("data.shorter_side=0", "'data.shorter_side' is 0, but must be at least 1."),
        ("data.needles.classes=1", "'data.needles.classes' is 1, but must be at least 2."),
        ("data.needles.glyph=896", "'data.needles.glyph' must be smaller than 'data.needles.canvas'."),
        ("augment.min_area=1.1", "'augment.min_area' is 1.1, but must be at most 1."),
        ("augment.min_area=0", "'augment.min_area' is 0, but must be more than 0."),
        ("augment.aspect=[0, 2]", "'augment.aspect[0]' is 0, but must be more than 0."),
        ("augment.aspect=[2, 1]", "'augment.aspect' is [2.0, 1.0], but must be [least, largest]."),
        ("augment.translate=1", "'augment.translate' is 1, but must be less than 1."),
        ("augment.rotate=200", "'augment.rotate' is 200, but must be at most 180."),
        ("loss.lambda_f=-1", "'loss.lambda_f' is -1, but must be at least 0."),
        ("loss.lambda_c=1.1", "'loss.lambda_c' is 1.1, but must be at most 1."),
        ("loss.lambda_r=-0.1", "'loss.lambda_r' is -0.1, but must be at least 0."),
        ("loss.samples=0", "'loss.samples' is 0, but must be at least 1."),
        ("loss.label_smoothing=1", "'loss.label_smoothing' is 1, but must be less than 1."),
        ("loss.per_feature_levels=3", "'loss.per_feature_levels' is 3, but must lie in 2…2, the model's levels."),
        ("loss.per_feature_levels=1", "'loss.per_feature_levels' is 1, but must lie in 2…2, the model's levels."),
        ("policy.temperature=0", "'policy.temperature' is 0, but must be more than 0."),
        ("freeze.stages=-1", "'freeze.stages' is -1, but must be at least 0."),
        ("freeze.modules=[head]", "'freeze.modules' names 'head', but there are only features, classifier, positional"),
        ("optim.lr=0", "'optim.lr' is 0, but must be more than 0."),
        ("optim.betas=[0.9, 1]", "'optim.betas[1]' is 1, but must be less than 1."),
        ("optim.drop_at=1.5", "'optim.drop_at' is 1.5, but must be at most 1."),
        ("optim.drop_factor=0", "'optim.drop_factor' is 0, but must be more than 0."),
        ("optim.weight_decay=0.1", "'optim.weight_decay' needs 'optim.method' adamw, not adam; for L2 use 'loss.l2'."),
        ("optim.warmup=0.1", "'optim.warmup' belongs to the schedule cosine, but 'optim.schedule' is step."),
        ("optim.final=0.1", "'optim.final' belongs to the schedule cosine, but 'optim.schedule' is step."),
        ("init.weights=random", "'init.tag' names weights of timm, but 'init.weights' is 'random'."),
        ("init.weights=checkpoint init.tag=", "'init.checkpoint' is missing; 'init.weights' is 'checkpoint', so name"),
        ("init.checkpoint=x", "'init.checkpoint' has no effect while 'init.weights' is 'timm'; drop one of them."),
        ("init.weights=random init.tag= init.classifier=true", "'init.classifier' applies to the weights of timm and"),
        ("model.preset=cub-b9", "'model.preset' is 'cub-b9'; known are: imagenet-bagnet77, "),
        ("model.config.dropout=2", "'model.config.dropout' is 2, but must be at most 0.99."),
        ("model.config.levels=3", "'model.config.budget' has 1 entries, but 3 levels need 2"),
        ("model.config.budget=[26]", "Each entry of 'model.config.budget' must lie in 0…25"),
        ("model.config.location=none", "'model.config': A baseline (location='none') has one level"),
    ],
)  # fmt: skip
def test_a_value_that_no_run_can_have_is_named_with_what_is_possible(overrides: str, message: str) -> None:
    # A value may hold spaces after a comma, another override starts with a key.
    assert message in refusal(*overrides.replace(", ", ",").split(" "))


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("loss.per_feature_levels=2", "'loss.per_feature_levels' has no meaning for a baseline, which has one level."),
        ("freeze.modules=[location]", "'freeze.modules' names 'location', which this model does not have."),
        ("freeze.modules=[weighting]", "'freeze.modules' names 'weighting', which this model does not have."),
        ("policy.target=ranking", "'policy.target' has no meaning for a baseline, which takes no looks."),
    ],
)
def test_a_baseline_has_no_part_in_what_only_looks_need(override: str, message: str) -> None:
    assert message in refusal(override, recipe="cub-en-b0")


def test_a_recipe_made_in_python_can_be_checked_too() -> None:
    recipe_from_mapping(recipe_to_mapping(Recipe(name="fine")))
    with pytest.raises(TNetError, match="'epochs' is -1"):
        recipe_from_mapping(recipe_to_mapping(replace(Recipe(name="odd"), epochs=-1)))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("epochs: 1\nepochs: 2\n", "it is not valid YAML: the key 'epochs' appears twice (line 2)."),
        ("loss: {l2: 1, l2: 2}\n", "it is not valid YAML: the key 'l2' appears twice (line 1)."),
        ("a: &x 1\nb: *x\n", "it is not valid YAML: anchors and aliases (& and *) are not allowed (line 1)."),
        ("epochs: [1\n", "it is not valid YAML: "),
        ("epochs: !!python/name:os.system 1\n", "it is not valid YAML: could not determine a constructor"),
        ("[" * 3000, "it is not valid YAML: "),
        ("", "it must be a mapping of keys to values."),
        ("- epochs\n", "it must be a mapping of keys to values."),
        ("3: 4\n", "unknown key '3'."),
        ("<<: {epochs: 3}\n", "unknown key '<<'."),
        ("data:\n", "'data' is None, but must be a mapping of fields."),
    ],
)
def test_a_file_that_is_no_recipe_is_refused_in_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    assert refusal(recipe=path).startswith(f"Recipe '{path}': {message}")


def test_a_missing_folder_or_binary_or_large_file_is_refused(tmp_path: Path) -> None:
    assert "There is no file" in refusal(recipe=tmp_path / "none.yaml")
    assert "There is no file" in refusal(recipe=str(tmp_path / "none.yaml"))
    assert "is not a file" in refusal(recipe=tmp_path)
    (tmp_path / "binary.yaml").write_bytes(b"\xff\xfe\x00")
    assert "it is not UTF-8 text." in refusal(recipe=tmp_path / "binary.yaml")
    assert "at most 65536 are accepted" in refusal(recipe=written(tmp_path, "#" * 70_000))


def test_a_recipe_builds_on_another_key_by_key(tmp_path: Path) -> None:
    written(tmp_path, "name: start\nepochs: 7\nloss: {l2: 0.5, samples: 2}\nfreeze: {modules: [location]}\n", "a.yaml")
    recipe = read_recipe(written(tmp_path, "base: a.yaml\nloss: {l2: 0.25}\nfreeze: {modules: [classifier]}\n"))
    assert (recipe.name, recipe.epochs) == ("mine", 7)
    assert (recipe.loss.l2, recipe.loss.samples) == (0.25, 2)
    assert recipe.freeze.modules == ("classifier",)


def test_a_recipe_may_build_on_one_of_the_package(tmp_path: Path) -> None:
    recipe = read_recipe(written(tmp_path, "base: cub-b0\nepochs: 3\n"), ["loss.margin=0.2"])
    expected = replace(read_recipe("cub-b0", ["loss.margin=0.2"]), name="mine", epochs=3)
    assert recipe == expected


def test_bases_may_have_bases_up_to_a_depth_and_never_in_a_circle(tmp_path: Path) -> None:
    written(tmp_path, "epochs: 7\nseed: 1\nbatch_size: 8\n", "a.yaml")
    written(tmp_path, "base: a.yaml\nseed: 2\nbatch_size: 9\n", "b.yaml")
    written(tmp_path, "base: b.yaml\nbatch_size: 10\n", "c.yaml")
    recipe = read_recipe(written(tmp_path, "base: c.yaml\n", "d.yaml"))
    assert (recipe.epochs, recipe.seed, recipe.batch_size) == (7, 2, 10)
    assert "at most 3 recipes lie below one another." in refusal(recipe=written(tmp_path, "base: d.yaml\n", "e.yaml"))
    written(tmp_path, "base: c.yaml\n", "a.yaml")
    assert "leads back to itself." in refusal(recipe=tmp_path / "b.yaml")


@pytest.mark.parametrize(
    ("base", "message"),
    [
        ("mine.yaml", "its base 'mine.yaml' leads back to itself."),
        ("none.yaml", "its base 'none.yaml': There is no file"),
        ("cub-b77", "There is no recipe 'cub-b77'"),
        ("[a]", "'base' is ['a'], but must be the name or the path of another recipe."),
        ("''", "'base' is '', but must be the name or the path of another recipe."),
    ],
)
def test_a_base_that_cannot_be_used_is_named(tmp_path: Path, base: str, message: str) -> None:
    assert message in refusal(recipe=written(tmp_path, f"base: {base}\n"))


def test_to_mapping_is_plain_complete_and_reads_back_from_text_of_either_kind(tmp_path: Path) -> None:
    recipe = read_recipe("fmow-b0-stage2", ["data.root=1e-3x", "model.config.budget=[2, 2]", "augment.aspect=[0.9, 1]"])
    mapping = recipe_to_mapping(recipe)
    assert mapping["precision"] == "no"
    assert mapping["model"]["config"] == {"budget": [2, 2]}
    assert mapping["data"]["needles"]["canvas"] == 896
    assert recipe_from_mapping(mapping) == recipe
    assert read_recipe(written(tmp_path, recipe_to_text(recipe))) == recipe
    assert read_recipe(written(tmp_path, yaml.safe_dump(mapping))) == recipe


def test_a_text_that_looks_like_a_number_stays_a_text(tmp_path: Path) -> None:
    recipe = replace(read_recipe("cub-b0"), data=DataSection(root="1e-3", cache="no", boxes="12"))
    assert read_recipe(written(tmp_path, recipe_to_text(recipe))) == recipe


scalars = st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False)
texts = st.text(st.characters(codec="utf-8", exclude_categories=("C",)), max_size=12)


@pytest.mark.slow
@given(st.dictionaries(texts, st.recursive(scalars | texts, lambda inner: st.lists(inner, max_size=3), max_leaves=5)))
def test_what_is_dumped_is_parsed_to_the_same(value: dict[str, object]) -> None:
    assert parse(dump(value)) == value
