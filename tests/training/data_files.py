"""Small data sets on disk, in the layouts that the training package reads."""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np


def picture(seed: int, height: int = 24, width: int = 32) -> np.ndarray:
    """A smooth, coloured (H, W, 3) uint8 image."""
    coarse = np.random.default_rng(seed).integers(0, 256, (4, 4, 3), dtype=np.uint8)
    return cv2.resize(coarse, (width, height), interpolation=cv2.INTER_LINEAR)


def write_picture(path: Path, seed: int, height: int = 24, width: int = 32) -> np.ndarray:
    path.parent.mkdir(parents=True, exist_ok=True)
    image = picture(seed, height, width)
    assert cv2.imwrite(str(path), image[..., ::-1])
    return image


def class_folders(root: Path, classes: tuple[str, ...] = ("ant", "bee"), images: int = 4, suffix: str = ".png") -> Path:
    for c, name in enumerate(classes):
        for i in range(images):
            write_picture(root / name / f"{name}_{i}{suffix}", 100 * c + i)
    return root


def listed_birds(root: Path, classes: dict[str, str], images: list[tuple[str, str, str, int]]) -> Path:
    """The layout of CUB and NABirds; images: id, file, class id, 1 for training. Boxes: x 8, y 6, w 16, h 12."""
    for seed, (_, file, _, _) in enumerate(images):
        write_picture(root / "images" / file, seed)
    lists = {
        "classes.txt": [f"{key} {name}" for key, name in classes.items()],
        "images.txt": [f"{image} {file}" for image, file, _, _ in images],
        "image_class_labels.txt": [f"{image} {key}" for image, _, key, _ in images],
        "train_test_split.txt": [f"{image} {train}" for image, _, _, train in images],
        "bounding_boxes.txt": [f"{image} 8.0 6.0 16.0 12.0" for image, _, _, _ in images],
    }
    for name, lines in lists.items():
        (root / name).write_text("\n".join(lines) + "\n")
    return root


def small_cub(root: Path) -> Path:
    classes = {"1": "001.Black_footed_Albatross", "2": "002.Laysan_Albatross"}
    images = [(str(i), f"{classes[key]}/bird_{i}.png", key, i % 2) for i, key in enumerate("11112222", 1)]
    return listed_birds(root, classes, images)


def fmow_image(folder: Path, name: str, seed: int, boxes: list[tuple[str, list[float]]], **size: int) -> np.ndarray:
    """An image with its JSON, and the same place in other bands, which must not be read."""
    place = folder / name.rpartition("_")[0].rpartition("_")[0] / name.rpartition("_")[0]
    image = write_picture(place / f"{name}_rgb.jpg", seed, **size)
    write_picture(place / f"{name}_msrgb.jpg", seed)
    content = {
        "img_width": image.shape[1],
        "img_height": image.shape[0],
        "bounding_boxes": [{"category": category, "box": box} for category, box in boxes],
    }
    (place / f"{name}_rgb.json").write_text(json.dumps(content))
    return image
