"""The pictures of an evaluation's failures: small ones to show, and files to open while the page is there."""

from __future__ import annotations

import secrets
import shutil
import tempfile
import threading
from collections import Counter
from contextlib import suppress
from pathlib import Path

import tnet_core as tn
from pages.limits import MAX_FAILURE_BYTES, MAX_FAILURES
from pages.server.access import upload_root
from pages.server.sessions import OwnPicture
from training.data.dataset import FileDataset, ImageFile
from training.data.sample import DatasetView, ImageDataset
from training.evaluation.failures import Failures
from viz.common.payload import encode_webp, read_preview
from viz.your_data.page import FailureGallery, FailurePicture

THUMBNAIL_SIDE = 180  # pixels of the longer side
NOT_KEPT = "This picture is not kept any more: evaluate the data again to open it."


class FailurePictures:
    """Files of failures by session. Nobody else is told where they lie, and they go when the session ends.

    Files of a zip are copied, since they are removed after the evaluation; those of a local folder stay where they are.
    """

    def __init__(self) -> None:
        self._kept: dict[str, dict[int, OwnPicture]] = {}
        self._folders: dict[str, list[Path]] = {}
        self._lock = threading.Lock()

    def show(
        self, session: str, found: Failures, dataset: ImageDataset, names: tuple[str, ...], *, copies: bool
    ) -> FailureGallery:
        """Return what is shown of the failures, and keep the files of those that can be opened."""
        entries = _list_entries(dataset)
        names = names or tuple(dataset.class_names)
        listed = found.listed[:MAX_FAILURES]
        files = [entries[failure.index].path for failure in listed]
        if copies:
            files = self._copy(session, files)
        kept: dict[int, OwnPicture] = {}
        pictures = []
        for number, (failure, file) in enumerate(zip(listed, files, strict=True)):
            title, label, prediction = Path(failure.name).name, names[failure.label], names[failure.prediction]
            if file:
                kept[number] = OwnPicture(file, title, label)
            thumbnail = _draw_thumbnail(entries[failure.index].path)
            pictures.append(
                FailurePicture(
                    title,
                    label,
                    prediction,
                    failure.surety,
                    failure.cause or "",
                    failure.is_doubtful,
                    thumbnail,
                    file != "",
                )
            )
        with self._lock:
            self._kept[session] = kept
        causes = Counter(str(failure.cause) for failure in found.listed if failure.cause)
        return FailureGallery(
            budget=found.budget,
            images=found.images,
            wrong=len(found.listed),
            doubtful=sum(failure.is_doubtful for failure in found.listed),
            causes=dict(causes),
            reference=found.reference,
            pictures=tuple(pictures),
            confusions={(names[a], names[b]): count for (a, b), count in found.confusions.items()},
            taken=found.taken,
            taken_failures=found.taken_failures,
        )

    def find(self, session: str, number: object) -> OwnPicture:
        """Return the file of a failure of this session's last evaluation."""
        with self._lock:
            file = self._kept.get(session, {}).get(number) if type(number) is int else None
        if file is None or not Path(file).is_file():
            raise tn.TNetError(NOT_KEPT)
        return file

    def release(self, session: str) -> None:
        """Remove all that is kept for a session."""
        with self._lock:
            self._kept.pop(session, None)
            folders = self._folders.pop(session, [])
        for folder in folders:
            shutil.rmtree(folder, ignore_errors=True)

    def _copy(self, session: str, files: list[str]) -> list[str]:
        """Copy files into a folder of the session as long as there is room; return their places, empty where not kept.

        The folder of the evaluation before stays, since one of its pictures may be open in Explore.
        """
        folder = Path(tempfile.mkdtemp(prefix=f"failures-{secrets.token_hex(16)}-", dir=upload_root()))
        with self._lock:
            folders = self._folders.setdefault(session, [])
            folders.append(folder)
            gone, folders[:] = folders[:-2], folders[-2:]
        for old in gone:
            shutil.rmtree(old, ignore_errors=True)
        room, copied = MAX_FAILURE_BYTES, []
        for number, file in enumerate(files):
            size = Path(file).stat().st_size
            place = folder / f"{number}.image"
            if size <= room:
                room -= size
                shutil.copyfile(file, place)
            copied.append(str(place) if place.exists() else "")
        return copied


def _list_entries(dataset: ImageDataset) -> tuple[ImageFile, ...]:
    """Return the files of a data set, whose labels may have been exchanged."""
    origin = dataset.origin if isinstance(dataset, DatasetView) else dataset
    assert isinstance(origin, FileDataset)
    return origin.entries


def _draw_thumbnail(file: str) -> str:
    with suppress(tn.TNetError):  # it was readable a moment ago
        return encode_webp(read_preview(tn.ImageSource.open(file), THUMBNAIL_SIDE), 78)
    return ""
