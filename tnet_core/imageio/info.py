"""`ImageInfo`: what a trace remembers of its image."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from tnet_core.imageio.file_hash import OpenedFile


@dataclass(frozen=True)
class ImageInfo:
    """Which image it was; never its pixels.

    Of a large file `sha256` is taken when it is first read, so that a traversal costs no more than
    its looks. Writing, pickling, hashing and comparing with another file read it; copying and printing do not.
    """

    sha256: str
    hashed: str  # what the hash is of: "file" or "pixels"
    width: int
    height: int

    _file: ClassVar[OpenedFile | None] = None  # whose hash may not be taken yet

    @staticmethod
    def of_file(file: OpenedFile, width: int, height: int) -> ImageInfo:
        """Of a file that need not be hashed yet."""
        info = object.__new__(ImageInfo)
        for name, value in {"hashed": "file", "width": width, "height": height, "_file": file}.items():
            object.__setattr__(info, name, value)
        return info

    def __getattr__(self, name: str) -> Any:
        """Called for what is not there: the hash, until it was taken."""
        if name != "sha256" or self._file is None:
            raise AttributeError(f"'ImageInfo' object has no attribute '{name}'")
        found = self._file.sha256()
        object.__setattr__(self, "sha256", found)
        return found

    @property
    def known_sha256(self) -> str | None:
        """The hash where it costs nothing: None for a large file that nobody has hashed yet."""
        taken: str | None = self.__dict__.get("sha256")
        return self._file.known_sha256 if taken is None and self._file is not None else taken

    def __eq__(self, other: object) -> bool:
        """Hashes are taken only where nothing else tells."""
        if not isinstance(other, ImageInfo):
            return NotImplemented
        if (self.hashed, self.width, self.height) != (other.hashed, other.width, other.height):
            return False
        if self._file is not None and other._file is not None:
            if self._file == other._file:
                return True
            if self._file.size != other._file.size:
                return False
        return self.sha256 == other.sha256

    def __repr__(self) -> str:
        rest = f"hashed={self.hashed!r}, width={self.width}, height={self.height}"
        return f"ImageInfo(sha256={self.known_sha256!r}, {rest})"

    def __copy__(self) -> ImageInfo:
        return self  # nothing in it changes

    def __deepcopy__(self, _: Any) -> ImageInfo:
        return self

    def __reduce__(self) -> tuple[Callable[..., ImageInfo], tuple[str, str, int, int]]:
        """With its hash: the file may not be at hand where this arrives."""
        return ImageInfo, (self.sha256, self.hashed, self.width, self.height)
