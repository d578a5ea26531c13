"""Reading from disk: one image file as RGB bytes, by the rules of `tnet_core.imageio`, and what lies in a folder.

Images are reduced while decoding where asked. A folder that may not be read is said, not taken for an empty one.
"""

from __future__ import annotations

import errno
import io
import os
import stat
from pathlib import Path

import cv2
import numpy as np
from PIL import ExifTags, JpegImagePlugin

from tnet_core.errors import TNetError, reason
from tnet_core.imageio.decode import MAX_FILE_BYTES, SUFFIXES, check_size, decode_bytes, pil_to_rgb
from tnet_core.schemas.files import read_bounded

JPEG_START = b"\xff\xd8\xff"
MAX_LIST_BYTES = 64 << 20  # of a text file that lists images or classes; NABirds needs 4 MB


def read_image(path: Path | str, shorter_side: int | None = None) -> tuple[np.ndarray, tuple[int, int]]:
    """Return (H, W, 3) uint8 RGB, upright, and the height and width it had before `shorter_side` reduced it.

    An image whose shorter side exceeds `shorter_side` is reduced as the official fMoW code does: by 2, 4 or 8
    while decoding where more than that is too much, then bilinearly to the exact size.
    """
    data = _read_bytes(Path(path))
    image, full = _decode(data, str(path), shorter_side)
    return (image if shorter_side is None else shrink(image, shorter_side)), full


def shrink(image: np.ndarray, shorter_side: int) -> np.ndarray:
    """Reduce an image so that its shorter side has at most that many pixels."""
    ratio = _choose_ratio(image.shape[0], image.shape[1], shorter_side)
    height, width = (-(-side // ratio) for side in image.shape[:2])
    if ratio > 1:
        image = cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA)
    scale = shorter_side / min(height, width)
    if scale >= 1:
        return image
    size = (max(round(width * scale), shorter_side), max(round(height * scale), shorter_side))
    return cv2.resize(image, size, interpolation=cv2.INTER_LINEAR_EXACT)


def _read_bytes(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise TNetError(f"{path} is larger than {MAX_FILE_BYTES >> 20} MB, the limit for one image file.")
        return path.read_bytes()
    except OSError as error:
        raise TNetError(f"{path} cannot be read ({error.strerror or error}).") from None


def _decode(data: bytes, name: str, shorter_side: int | None) -> tuple[np.ndarray, tuple[int, int]]:
    header = _read_jpeg_header(data) if data.startswith(JPEG_START) else None
    if header is not None:
        check_size(header.width, header.height, name)
        full = (header.height, header.width)
        if header.getexif().get(ExifTags.Base.Orientation, 1) in (5, 6, 7, 8):
            full = full[::-1]
        ratio = 1 if shorter_side is None else _choose_ratio(*full, shorter_side)
        if ratio > 1:
            header.draft(None, (header.width // ratio, header.height // ratio))
            return pil_to_rgb(header, name), full
        # Three times as fast, and the same pixels; colours in CMYK it treats otherwise.
        if header.mode in ("RGB", "L"):
            image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR_RGB)
            if image is not None and image.shape[:2] == full:
                return image, full
    image = decode_bytes(data, name)
    return image, (image.shape[0], image.shape[1])


def _read_jpeg_header(data: bytes) -> JpegImagePlugin.JpegImageFile | None:
    try:
        return JpegImagePlugin.JpegImageFile(io.BytesIO(data))
    except Exception:  # whatever is wrong with it, decode_bytes will say it
        return None


def _choose_ratio(height: int, width: int, shorter_side: int) -> int:
    """Return the reduction that a JPEG decoder can apply by itself and that leaves at least the wanted size."""
    return next((ratio for ratio in (8, 4, 2) if min(height, width) > ratio * shorter_side), 1)


def is_folder(path: Path) -> bool:
    return stat.S_ISDIR(_read_mode(path))


def is_file(path: Path) -> bool:
    return stat.S_ISREG(_read_mode(path))


def _read_mode(path: Path) -> int:
    """Return the kind of what is there; 0 for nothing."""
    try:
        return path.stat().st_mode
    except (FileNotFoundError, NotADirectoryError, ValueError):  # ValueError: a path with a null character
        return 0
    except OSError as error:
        raise TNetError(f"{path} cannot be read ({reason(error)}).") from None


def list_folder(folder: Path) -> list[os.DirEntry[str]]:
    """Return what is not hidden in a folder, sorted by name."""
    try:
        with os.scandir(folder) as found:
            return sorted((entry for entry in found if not entry.name.startswith(".")), key=lambda entry: entry.name)
    except OSError as error:
        raise TNetError(f"The folder {folder} cannot be read ({reason(error)}).") from None


def list_sub_folders(folder: Path) -> list[str]:
    """Return names of the folders in it, sorted; links to folders too."""
    return [entry.name for entry in list_folder(folder) if _leads_to_folder(entry)]


def find_images(folder: Path) -> list[str]:
    """Return paths of images relative to the folder, sorted; also from sub-folders.

    Links are followed, but no folder is entered twice, and none that the given one lies in: a link that leads
    upwards would bring the same images again and again.
    """
    above = (*folder.absolute().parents, *folder.resolve().parents)
    seen = {_identify(place) for place in above} - {None}
    found: list[str] = []
    pending = [""]
    while pending:
        below = pending.pop()
        identity = _identify(folder / below)
        if identity in seen:
            continue
        if identity is not None:
            seen.add(identity)
        folders: list[os.DirEntry[str]] = []
        for entry in list_folder(folder / below):
            if _leads_to_folder(entry):
                folders.append(entry)
            elif is_image(entry.name):
                found.append(below + entry.name)
        # taken from the end: folders by name, before the links that may lead to one of them
        folders.sort(key=lambda entry: (entry.is_symlink(), entry.name), reverse=True)
        pending += [f"{below}{entry.name}/" for entry in folders]
    return sorted(found)


def is_image(file: str) -> bool:
    return not file.startswith(".") and f".{file.rpartition('.')[2].lower()}" in SUFFIXES


def name_readably(file: str) -> str:
    """Return a file's name as text that can be printed, hashed and stored: bytes that are no UTF-8 as '\\xff'."""
    return os.fsencode(file).decode("utf-8", "backslashreplace")


def read_lines(path: Path) -> list[str]:
    """Return the lines of a list, as text."""
    try:
        return read_bounded(path, MAX_LIST_BYTES).decode("utf-8").splitlines()
    except UnicodeDecodeError:
        raise TNetError(f"The list {path} is not text in UTF-8.") from None


def _leads_to_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError as error:
        if error.errno == errno.ELOOP:  # a link to itself
            return False
        raise TNetError(f"{entry.path} cannot be read ({reason(error)}).") from None


def _identify(folder: Path) -> tuple[int, int] | None:
    try:
        status = folder.stat()
    except OSError:  # listing it will say why
        return None
    return status.st_dev, status.st_ino
