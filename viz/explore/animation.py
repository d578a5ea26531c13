"""A moving picture of the looks: the thumbnail's answer, then one frame per look, for ever."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from tnet_core import ImageSource, Trace
from viz.common.payload import read_preview
from viz.common.style import ACCENT
from viz.common.text import format_class_name, format_percent, list_look_names

MAX_FRAMES = 14  # of more looks, only some are shown: the file stays small
_SIDE, _LEAST_WIDTH, _STRIP = 640, 420, 64  # pixels: longer side of the picture, width of a frame, height of its text
_STEP_MS, _LAST_MS = 900, 2600
_QUALITY = 72


def build_animation_payload(
    trace: Trace, source: ImageSource, looks: Sequence[int], credit: str = ""
) -> dict[str, Any]:
    """Return an animated WebP of these looks in their order, as the page takes files."""
    data = encode_animation(draw_frames(trace, read_preview(source, _SIDE), looks, credit))
    encoded = base64.b64encode(data).decode("ascii")
    return {"kind": "file", "base64": encoded, "type": "image/webp", "extension": "webp"}


def list_shown_counts(looks: int) -> list[int]:
    """Return after how many looks there is a frame: all counts, or some of them with none and all."""
    if looks < MAX_FRAMES:
        return list(range(looks + 1))
    return sorted({round(looks * frame / (MAX_FRAMES - 1)) for frame in range(MAX_FRAMES)})


def write_caption(trace: Trace, looks: Sequence[int]) -> str:
    """Return the decision from these looks in a few words."""
    probabilities = trace.probabilities(subset=looks)
    best = int(probabilities.argmax())
    answer = f"{format_class_name(trace, best)} {format_percent(float(probabilities[best]))}"
    return f"{len(looks)} {'look' if len(looks) == 1 else 'looks'}: {answer}" if looks else f"Thumbnail: {answer}"


def draw_frames(trace: Trace, picture: np.ndarray, looks: Sequence[int], credit: str = "") -> list[Image.Image]:
    """Draw the picture with the looks so far and what they say, once per count of looks; `credit` is below."""
    return [_draw_frame(trace, picture, list(looks[:count]), credit) for count in list_shown_counts(len(looks))]


def encode_animation(frames: Sequence[Image.Image]) -> bytes:
    """Encode frames as a WebP that repeats; the last one stays longer."""
    buffer = io.BytesIO()
    times = [_STEP_MS] * (len(frames) - 1) + [_LAST_MS]
    first, others = frames[0], list(frames[1:])
    first.save(buffer, "WEBP", save_all=True, append_images=others, duration=times, loop=0, quality=_QUALITY, method=4)
    return buffer.getvalue()


def _draw_frame(trace: Trace, picture: np.ndarray, looks: list[int], credit: str) -> Image.Image:
    height, width = picture.shape[:2]
    frame = Image.new("RGB", (max(width, _LEAST_WIDTH), height + _STRIP), "white")
    left = (frame.width - width) // 2
    frame.paste(Image.fromarray(picture), (left, 0))
    pen, names = ImageDraw.Draw(frame), list_look_names(trace)
    small, large = ImageFont.load_default(15), ImageFont.load_default(20)
    for look in looks:
        newest = look == looks[-1]
        x0, y0, x1, y1 = trace.locations[look].box
        box = [left + round(x0 * width), round(y0 * height), left + round(x1 * width) - 1, round(y1 * height) - 1]
        pen.rectangle(box, outline=ACCENT if newest else "white", width=4 if newest else 2)
        if min(box[2] - box[0], box[3] - box[1]) > 24:  # room for its name
            wide = pen.textlength(names[look], font=small)
            pen.rectangle((box[0] + 4, box[1] + 4, box[0] + 12 + wide, box[1] + 24), fill=ACCENT if newest else "white")
            pen.text((box[0] + 8, box[1] + 5), names[look], fill="white" if newest else "black", font=small)
    for top, text, font, ink in ((8, write_caption(trace, looks), large, "black"), (38, credit, small, "#5b6676")):
        pen.text((12, height + top), _shorten(pen, text, font, frame.width - 24), fill=ink, font=font)
    return frame


def _shorten(pen: ImageDraw.ImageDraw, text: str, font: Any, width: int) -> str:
    """Return as much of a text as fits."""
    while text and pen.textlength(text, font=font) > width:
        text = text.rstrip("…")[:-1] + "…"
    return text
