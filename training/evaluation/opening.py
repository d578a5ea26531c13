"""From what is written on the command line to a checkpoint, a data set and a place for the result."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tnet_core.checkpoints.files import EVALUATION_FILE
from tnet_core.checkpoints.hub_id import PREFIX
from tnet_core.checkpoints.registry import Registry
from tnet_core.errors import TNetError
from training.data import open_folder, open_split
from training.data.dataset import folders_there
from training.data.reading import is_folder, sub_folders
from training.data.sample import ImageDataset, Sample
from training.recipes.reading import read_recipe, recipe_names
from training.recipes.recipe import Recipe

_RECIPE_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class Data:
    dataset: ImageDataset
    split: str  # as it is to be recorded
    recipe: Recipe | None


def open_data(
    data: str | None, recipe: str | None, split: str | None, boxes: str | None, split_name: str | None = None
) -> Data:
    """A folder of class folders, or the validation split of a recipe.

    `data` is a folder or a recipe; with `recipe`, it is the root folder for that recipe. `split`
    is a sub-folder of the data, or the recipe's split of that name. `split_name` is what a folder's
    split is recorded as, if not by the name of the folder that holds the classes.
    """
    if recipe is None and data is not None and _is_recipe(data):
        data, recipe = None, data
    if recipe is not None:
        if boxes is not None:
            raise TNetError("A recipe names its own boxes; give --boxes only with a folder of class folders.")
        if split_name is not None:
            raise TNetError("A recipe names its own splits; give --split-name only with a folder of class folders.")
        return _from_recipe(recipe, data, split)
    if data is None:
        raise TNetError("Give a folder of class folders or a recipe to measure on.")
    folder = Path(data).expanduser()
    name = folder.resolve().name
    if split is not None:
        folder = _sub_folder(folder, split)
    opened = open_folder(folder, boxes=None if boxes is None else Path(boxes).expanduser())
    recorded = split_name or split or folder.resolve().name or opened.split
    return Data(_Named(opened, name or opened.name, recorded), recorded, None)


def _sub_folder(folder: Path, split: str) -> Path:
    if not is_folder(folder):
        raise TNetError(f"The folder {folder} does not exist.")
    if split not in sub_folders(folder):
        raise TNetError(
            f"The folder {folder} has no sub-folder '{split}' ({folders_there(folder)}); to record what is in it "
            f"as that split, use --split-name {split}."
        )
    return folder / split


def _is_recipe(data: str) -> bool:
    if is_folder(Path(data).expanduser()):
        return False
    return data.endswith(_RECIPE_SUFFIXES) or data in recipe_names()


def _from_recipe(spec: str, root: str | None, split: str | None) -> Data:
    changes = [] if root is None else [f"data.root={Path(root).expanduser()}"]
    recipe = read_recipe(spec, changes)
    which = "train" if split in ("train", recipe.data.train) else "validation"
    if split is not None and which == "validation" and split not in ("validation", recipe.data.validation):
        if recipe.data.kind == "needles":
            raise TNetError(
                f"The canvases of {recipe.name} have the splits 'train' and 'validation' only, not '{split}'."
            )
        recipe = read_recipe(spec, [*changes, f"data.validation={split}", "data.holdout=0"])
    opened = open_split(recipe.data, "train" if which == "train" else "validation", seed=recipe.seed)
    return Data(opened, split or opened.split, recipe)


class _Named:
    """A data set under the name it is to be reported by."""

    def __init__(self, dataset: ImageDataset, name: str, split: str) -> None:
        self._dataset, self.name, self.split = dataset, name, split
        self.class_names, self.labels = dataset.class_names, dataset.labels

    def __len__(self) -> int:
        return len(self._dataset)

    def __getitem__(self, index: int) -> Sample:
        return self._dataset[index]


def result_path(spec: str, out: str | None) -> Path:
    """Beside the checkpoint, or where `out` says (a file, or a folder that is there).

    A registry or Hub checkpoint is guarded by hashes and not ours to change: its evaluation goes to
    the current folder.
    """
    if out is not None:
        path = Path(out).expanduser()
        return path / EVALUATION_FILE if path.is_dir() else path
    if spec.startswith(PREFIX) or spec in Registry.load():
        name = spec.removeprefix(PREFIX).partition("@")[0].replace("/", "--")
        return Path(f"{name}.{EVALUATION_FILE}")
    return Path(spec).expanduser() / EVALUATION_FILE
