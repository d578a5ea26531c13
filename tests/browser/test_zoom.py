"""Files of one's own computer, and any look at native pixels: what is on the page is what the file holds."""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

import tnet_core as tn
from pages.limits import MAX_LOCAL_UPLOAD_BYTES, MAX_UPLOAD_BYTES
from tests.browser.reading import assert_shows, beyond, contrasts, in_both_themes
from tests.browser.test_export import take_file
from tests.support.large_files import scene, tiff
from tests.support.stage_page import scene as sent
from tests.support.stage_page import staged
from tnet_core.imageio.source import LargeSource
from tnet_core.records import pixel_box

SIDE = (2400, 3000)  # height, width: read in parts
COMPLETE = ".tn-zoom[open][data-complete=true]"
Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tiff(tmp_path_factory.mktemp("large") / "aerial view.tif", scene(*SIDE), tile=256, pyramid=True)
    assert isinstance(tn.ImageSource.open(path), LargeSource)
    return path


def window(page: Page) -> tuple[tuple[int, int, int, int], np.ndarray]:
    """The box that the window says it shows, and the pixels it really has: (H, W, 4)."""
    page.wait_for_selector(COMPLETE)
    x0, y0, x1, y1 = (int(page.get_attribute(".tn-window", f"data-{side}") or "") for side in ("x0", "y0", "x1", "y1"))
    drawn = page.evaluate("document.querySelector('.tn-window canvas').toDataURL('image/png')")
    return (x0, y0, x1, y1), np.asarray(Image.open(io.BytesIO(base64.b64decode(drawn.partition(",")[2]))))


def assert_native(page: Page, source: tn.ImageSource) -> tuple[int, int, int, int]:
    """One pixel of the file is one of the screen, and each is the file's own."""
    (x0, y0, x1, y1), drawn = window(page)
    area = page.locator(".tn-window canvas").bounding_box()
    assert area is not None and (area["width"], area["height"]) == (drawn.shape[1], drawn.shape[0])
    assert drawn.shape[:2] == (y1 - y0, x1 - x0)
    np.testing.assert_array_equal(drawn[..., :3], source.gather(np.arange(y0, y1), np.arange(x0, x1)))
    where = page.text_content(".tn-zoom-where") or ""
    assert f"x {x0} to {x1 - 1}, y {y0} to {y1 - 1} of {source.width} × {source.height} px" in where
    return x0, y0, x1, y1


def name_file(page: Page, path: str) -> None:
    field = page.get_by_label("Open a file on this computer")
    if not field.is_visible():  # narrow screens have it behind "About"
        page.evaluate("document.querySelector('.tn-card').open = true")
    field.fill(path)
    page.keyboard.press("Enter")


def test_a_named_file_is_looked_at_and_any_look_of_it_is_shown_at_native_pixels(
    visit: Visit, model: tn.TNet, large: Path
) -> None:
    page, source = visit(), tn.ImageSource.open(large)
    name_file(page, str(large))
    expect(page.locator("figcaption")).to_have_text("aerial view.tif, 3000 × 2400 px")
    trace = tn.traverse(model, large, budget=(25,))
    shown = page.locator(".tn-look:visible").count() - 1
    assert_shows(page, trace, shown)
    # the crop of the second look
    crop = page.locator(".tn-look [data-zoom='2']")
    crop.click()
    x0, y0, x1, y1 = assert_native(page, source)
    left, top, right, bottom = pixel_box(trace.locations[1].box, source.width, source.height)
    saw = f"What the network saw: 160 × 160 px; the picture has {right - left} × {bottom - top} px here."
    expect(page.locator(".tn-zoom-saw")).to_have_text(saw)
    expect(page.locator(".tn-zoom-title")).to_have_text("Look 2 at native pixels")
    expect(page.locator(".tn-zoom-where")).to_contain_text(
        f"The look: x {left} to {right - 1}, y {top} to {bottom - 1}."
    )
    assert abs((x0 + x1) - min(max(left + right, x1 - x0), 6000 - (x1 - x0))) <= 2  # its middle, inside the picture
    frame, canvas = page.locator(".tn-window > i").bounding_box(), page.locator(".tn-window canvas").bounding_box()
    assert frame is not None and canvas is not None
    drawn = [frame["x"] - canvas["x"], frame["y"] - canvas["y"], frame["width"], frame["height"]]
    across, down = np.clip([left - x0, right - x0], -8, x1 - x0 + 8), np.clip([top - y0, bottom - y0], -8, y1 - y0 + 8)
    np.testing.assert_allclose(drawn, [across[0], down[0], np.ptp(across), np.ptp(down)], atol=0.1)
    # by keys: the page behind does not step
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowUp")
    assert assert_native(page, source)[:2] == (max(0, x0 - 64), max(0, y0 - 64))
    for key in ("Shift+ArrowRight", "Shift+ArrowDown") * 5:
        page.keyboard.press(key)
    assert assert_native(page, source)[2:] == (3000, 2400)  # stops at the corner
    page.keyboard.press("Home")
    assert assert_native(page, source) == (x0, y0, x1, y1)
    assert page.locator(".tn-look:visible").count() - 1 == shown
    # by dragging
    page.mouse.move(canvas["x"] + 200, canvas["y"] + 200)
    page.mouse.down()
    page.mouse.move(canvas["x"] + 170, canvas["y"] + 240, steps=3)
    page.mouse.up()
    assert assert_native(page, source)[:2] == (min(x0 + 30, 3000 - (x1 - x0)), max(0, y0 - 40))
    # enlarged: every pixel a square
    page.keyboard.press("+")
    (x0, y0, x1, y1), enlarged = window(page)
    twice = source.gather(np.arange(y0, y1), np.arange(x0, x1)).repeat(2, 0).repeat(2, 1)
    np.testing.assert_array_equal(
        enlarged[:-2, :-2, :3], offset(twice, enlarged)[: enlarged.shape[0] - 2, : enlarged.shape[1] - 2]
    )
    expect(page.locator(".tn-zoom-scale")).to_have_text("One pixel of the picture is 2 × 2 pixels of the screen.")
    page.keyboard.press("Escape")
    expect(page.locator(".tn-zoom")).not_to_be_visible()
    expect(crop).to_be_focused()


def offset(whole: np.ndarray, part: np.ndarray) -> np.ndarray:
    """A view that begins in the middle of a pixel shows half of it: where the part begins in the whole."""
    for y in (0, 1):
        for x in (0, 1):
            if np.array_equal(whole[y : y + 8, x : x + 8], part[:8, :8, :3]):
                return whole[y:, x:]
    raise AssertionError("the enlarged pixels are not those of the picture")


def test_what_cannot_be_shown_is_said_in_one_sentence_and_the_rest_stays(
    visit: Visit, large: Path, tmp_path: Path
) -> None:
    page = visit()
    title = page.text_content("figcaption")
    for path, sentence in (
        ("/nowhere/at-all.tif", "There is no file '/nowhere/at-all.tif' on this computer."),
        ("  ", "Name the file of a picture on this computer."),
        (str(Path(__file__)), "'test_zoom.py' is not an image"),
    ):
        name_file(page, path)
        expect(page.locator("#explore-problem")).to_contain_text(sentence)
        assert page.text_content("figcaption") == title
    gone = tmp_path / "gone.tif"
    gone.write_bytes(large.read_bytes())
    name_file(page, str(gone))
    expect(page.locator("figcaption")).to_contain_text("gone.tif")
    page.keyboard.press("Tab")
    page.locator(".tn-look [data-zoom='0']").click()
    page.wait_for_selector(COMPLETE)
    expect(page.locator(".tn-zoom-saw")).to_contain_text("the picture has 3000 × 2400 px here")
    gone.unlink()
    for _ in range(4):
        page.keyboard.press("Shift+ArrowRight")
    expect(page.locator(".tn-zoom-sentence")).to_have_text(
        "This picture is not here any more: choose or upload it again."
    )
    page.get_by_role("button", name="Close").click()
    expect(page.locator(".tn-zoom")).not_to_be_visible()


def test_an_example_on_a_small_screen_by_keys_alone(visit: Visit) -> None:
    page = visit(390, 844)
    page.keyboard.press("2")
    page.keyboard.press("z")
    expect(page.locator(".tn-zoom-title")).to_have_text("Look 2 at native pixels")
    window(page)
    assert beyond(page, 390) == []
    for theme in in_both_themes(page):
        texts = contrasts(page, ".tn-zoom :is(h2, p, span, button)")
        assert [(text, ratio) for text, ratio in texts if ratio < 4.5] == [], theme
    inside = page.locator(".tn-zoom").bounding_box()
    assert inside is not None and inside["x"] >= 0 and inside["x"] + inside["width"] <= 390 and inside["height"] <= 844
    page.keyboard.press("Escape")
    expect(page.locator("[data-zoom=newest]")).to_be_focused()
    page.keyboard.press("ArrowRight")  # belongs to the page again
    expect(page.locator(".tn-box:visible")).to_have_count(3)


def test_an_upload_is_read_in_parts_too_and_may_be_large(visit: Visit, server: str, large: Path) -> None:
    page = visit(1024, 800)
    assert page.request.get(f"{server}/config").json()["max_file_size"] == MAX_LOCAL_UPLOAD_BYTES > MAX_UPLOAD_BYTES
    page.set_input_files("#explore-pick input[type=file]", large)
    expect(page.locator("figcaption")).to_contain_text("3000 × 2400 px")
    page.locator(".tn-look [data-zoom='1']").click()
    assert_native(page, tn.ImageSource.open(large))


def test_a_report_names_the_hash_of_a_large_file(visit: Visit, tmp_path: Path) -> None:
    file = tiff(tmp_path / "unhashed.tif", scene(*SIDE, 7), tile=256, pyramid=True)
    page = visit()
    name_file(page, str(file))
    expect(page.locator("figcaption")).to_have_text("unhashed.tif, 3000 × 2400 px")
    known = hashlib.sha256(file.read_bytes()).hexdigest()
    for _ in range(2):
        text = take_file(page, "report")[1].decode("utf-8")
        assert f"<dt>sha256 of its file</dt><dd>{known}</dd>" in text and f'"sha256":"{known}"' in text


def test_where_no_server_can_be_asked_there_is_no_zoom(
    browser: BrowserContext, reference: tn.Trace, tmp_path: Path
) -> None:
    from viz.examples import draw_picture

    page = staged(browser, sent(reference, draw_picture(0), "Alone"), tmp_path, alone=True)
    try:
        expect(page.locator("[data-zoom]:visible")).to_have_count(0)
        page.keyboard.press("z")
        expect(page.locator(".tn-zoom")).not_to_be_visible()
        page.locator(".tn-look[data-look='1']").focus()  # still a stop of its own
        expect(page.locator(".tn-look[data-look='1']")).to_be_focused()
    finally:
        page.close()
