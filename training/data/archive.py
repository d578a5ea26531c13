"""A zip of class folders from a stranger, as images that can be measured.

The folder right above an image is its class; what lies around it (one common folder, a split) does not matter. No
member is extracted by its name: what is an image is written under a number of ours into a new folder, which is removed
afterwards. Sizes are counted while reading, since an archive may state others. Everything else is left out and told.
"""

from __future__ import annotations

import io
import re
import stat
import struct
import tempfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from tnet_core.errors import TNetError
from tnet_core.imageio.decode import FORMATS
from training.data.dataset import FileDataset, ImageFile
from training.data.reading import is_image

MAX_ZIP_BYTES = 50 << 20  # of the archive itself
MAX_LIST_BYTES = 4 << 20  # of the archive's list of members, which is read at once
MAX_MEMBERS = 20_000  # files and folders
MAX_IMAGES = 5_000
MAX_CLASSES = 2_000
MAX_IMAGE_BYTES = 64 << 20  # of one member, unpacked
MAX_UNPACKED_BYTES = 512 << 20  # of all members that are read, unpacked
MAX_RATIO = 200  # unpacked to packed, of one member; pictures shrink little
MAX_IMAGE_PIXELS = 50_000_000  # of one image
_SMALL_BYTES = 1 << 20  # bytes up to which any ratio is allowed: a plain picture packs well
_CHUNK = 1 << 16
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # what others need of memory is for the archive to say

Watch = Callable[[], None]  # called before every member; may raise to cancel
LeftOut = Counter[str]  # why -> members


@dataclass(frozen=True)
class Unpacked:
    """Images in a folder of ours, and what of the zip is not among them."""

    dataset: FileDataset
    left_out: LeftOut


@contextmanager
def unpack_zip(path: Path | str, name: str, into: str | None = None, watch: Watch = lambda: None) -> Iterator[Unpacked]:
    """Open the images of a zip as a data set of that name while the context lasts; files lie below `into`."""
    with tempfile.TemporaryDirectory(prefix="zip-", dir=into, ignore_cleanup_errors=True) as folder:
        found, left_out = _unpack(Path(path), Path(folder), watch)
        if not found:
            sentence = "The zip holds no images in class folders: pack one folder per class."
            raise TNetError(f"{sentence} {describe_left_out_files(left_out)}".strip())
        yield Unpacked(_ZipDataset(name, "uploaded", sorted(found), _make_entries(found)), left_out)


def describe_left_out_files(left_out: LeftOut) -> str:
    """Return one sentence about what was left out; empty if nothing was."""
    parts = [f"{why} ({count})" for why, count in left_out.most_common()]
    return f"Left out of the zip: {', '.join(parts)}." if parts else ""


class _ZipDataset(FileDataset):
    """Knows its images by their names in the zip."""

    def read_pixels(self, index: int) -> tuple[np.ndarray, tuple[int, int]]:
        try:
            return super().read_pixels(index)
        except TNetError as error:
            entry = self.entries[index]
            raise TNetError(str(error).replace(entry.path, f"'{entry.name}'")) from None


Found = dict[str, list[tuple[str, Path]]]  # class -> file names in the zip, files of ours


def _unpack(path: Path, folder: Path, watch: Watch) -> tuple[Found, LeftOut]:
    found: Found = {}
    left_out: LeftOut = Counter()
    seen: set[tuple[str, ...]] = set()
    room, images = MAX_UNPACKED_BYTES, 0
    with _open_zip(path) as archive:
        for number, member in enumerate(_list_members(archive)):
            watch()
            parts = _split_path(member)
            why = _refuse_member(member, parts) or ("files named like another" if parts in seen else "")
            if not why:
                seen.add(parts)
                content = _read_member(archive, member, room)
                room -= len(content or b"")
                why = _refuse_content(content)
            if why:
                left_out[why] += 1
                continue
            file = folder / f"{number}.image"
            file.write_bytes(content or b"")
            found.setdefault(parts[-2], []).append((parts[-1], file))
            images += 1
            if images > MAX_IMAGES or len(found) > MAX_CLASSES:
                raise TNetError(f"The zip has more than {MAX_IMAGES} images or {MAX_CLASSES} classes; pack fewer.")
    return found, left_out


# The archive ------------------------------------------------------------------------------------------


class _BoundedReader(io.BufferedReader):
    """Refuses long reads: `zipfile` reads the list of members in one piece, as long as the archive says it is."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MAX_LIST_BYTES:
            raise TNetError(f"The zip has more than {MAX_MEMBERS} members; pack fewer.")
        return super().read(size)


@contextmanager
def _open_zip(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        size = path.stat().st_size
        file = _BoundedReader(path.open("rb", buffering=0))
    except OSError:
        raise TNetError("The zip is not here any more: choose it again.") from None
    with file:
        if size > MAX_ZIP_BYTES:
            raise TNetError(f"The zip has {size >> 20} MB; at most {MAX_ZIP_BYTES >> 20} are read.")
        try:
            archive = zipfile.ZipFile(file)
        except TNetError:
            raise
        except (zipfile.BadZipFile, OSError, ValueError, struct.error, NotImplementedError, OverflowError, EOFError):
            raise TNetError("This is not a zip file, or it is damaged.") from None
        with archive:
            yield archive


def _list_members(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of a zip; folders are known by what lies in them."""
    members = archive.infolist()
    if len(members) > MAX_MEMBERS:
        raise TNetError(f"The zip has more than {MAX_MEMBERS} members; pack fewer.")
    if any(member.flag_bits & 0x1 for member in members):
        raise TNetError("The zip is encrypted; pack it without a password.")
    return [member for member in members if not member.filename.endswith(("/", "\\"))]


def _split_path(member: zipfile.ZipInfo) -> tuple[str, ...]:
    """Return folders and file name. An empty first part means a path from the root."""
    name = member.filename
    if not member.flag_bits & 0x800:  # some programs write UTF-8 without saying so
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    first, *others = name.replace("\\", "/").removeprefix("./").split("/")
    return (first, *(part for part in others if part not in ("", ".")))


def _refuse_member(member: zipfile.ZipInfo, parts: tuple[str, ...]) -> str:
    """Return why a member is not read; empty if it is."""
    kind = stat.S_IFMT(member.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "symbolic links"
    if kind not in (0, stat.S_IFREG):
        return "special files"
    if ".." in parts or parts[0] == "" or re.fullmatch("[A-Za-z]:", parts[0]):
        return "files whose path leads out of the zip"
    if any(part.startswith(".") or part == "__MACOSX" for part in parts):
        return "hidden files"
    if not is_image(parts[-1]):
        return "files that are no images"
    if len(parts) < 2:
        return "images outside a class folder"
    if member.compress_type not in _METHODS:
        return "files packed by an uncommon method"
    return _TOO_LARGE if member.file_size > MAX_IMAGE_BYTES else ""


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo, room: int) -> bytes | None:
    """Return the member unpacked; None if it is damaged. One that grows too much ends everything."""
    content = io.BytesIO()
    try:
        with archive.open(member) as stream:
            while chunk := stream.read(_CHUNK):
                size = content.tell() + len(chunk)
                if size > max(_SMALL_BYTES, MAX_RATIO * member.compress_size):
                    raise TNetError(f"The zip unpacks to more than {MAX_RATIO} times its size, as no pictures do.")
                if size > room:
                    raise TNetError(f"The zip unpacks to more than {MAX_UNPACKED_BYTES >> 20} MB, the limit.")
                content.write(chunk)
    except TNetError:
        raise
    except (zipfile.BadZipFile, zlib.error, OSError, EOFError, ValueError, RuntimeError, struct.error):
        return None
    return content.getvalue()


# The images -------------------------------------------------------------------------------------------

_TOO_LARGE = f"images above {MAX_IMAGE_PIXELS // 10**6} million pixels or {MAX_IMAGE_BYTES >> 20} MB"


def _refuse_content(content: bytes | None) -> str:
    """Return why the content is not an image of ours, by its header; empty if it is."""
    if content is None:
        return "damaged files"
    if not content:
        return "empty files"
    try:
        with Image.open(io.BytesIO(content), formats=FORMATS) as header:
            width, height = header.size
    except Image.DecompressionBombError:
        return _TOO_LARGE
    except Exception:  # readers raise many kinds on damaged headers
        return "files that are called images and are none"
    return _TOO_LARGE if width * height > MAX_IMAGE_PIXELS else ""


def _make_entries(found: Found) -> list[ImageFile]:
    """Return entries in order of class and name, named as `folders.list_images` does: '<class>/<file stem>', unique."""
    entries = []
    for label, (name, files) in enumerate(sorted(found.items())):
        taken: set[str] = set()
        for file, place in sorted(files):
            stem = file.rpartition(".")[0]
            unique = stem if stem not in taken else file
            while unique in taken:  # from folders of the same name
                unique += "'"
            taken |= {stem, unique}
            entries.append(ImageFile(str(place), label, f"{name}/{unique}"))
    return entries
