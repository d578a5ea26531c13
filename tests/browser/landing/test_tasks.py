"""Five tasks of a visitor without prior knowledge, and their clicks."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import Page, expect

import tnet_core as tn
from tests.browser.landing.visit import OPENING, Open
from tests.browser.reading import find_rival
from viz.common.text import format_class_name, format_signed
from viz.examples import EXAMPLES_FOLDER


def count_clicks(page: Page) -> Callable[[], int]:
    """How often the visitor clicked from now on."""
    page.evaluate(
        """window.clicks = 0;
           document.addEventListener('click', event => { if (event.isTrusted && event.detail) clicks++; }, true);"""
    )
    return lambda: int(page.evaluate("clicks"))


def test_five_tasks_from_the_landing_page_take_few_clicks(arrive: Open, dogs: tn.Trace, tmp_path: Path) -> None:
    page = arrive(motion=False)
    clicks = count_clicks(page)

    # Which look decided this? The ledger is there; its largest share is that of a look.
    rows = page.locator(".tn-ledger tbody tr[data-look]")
    page.locator(".tn-ledger tbody tr").first.wait_for()
    decided = int(dogs.logits(OPENING).argmax())
    shares = dogs.contributions(decided, find_rival(dogs, (0, 1), decided), k=OPENING).values[1:]
    strongest = 1 + int(np.argmax(shares))
    expect(rows.filter(has_text=f"look {strongest}").first).to_contain_text(format_signed(float(max(shares))))
    assert clicks() <= 1

    # Would two looks do? It opens with two, and one click shows the others.
    page.click("[data-go=last]")
    every = dogs.probabilities(len(dogs.locations))
    name = format_class_name(dogs, int(every.argmax()))
    expect(page.locator(".tn-classes .tn-first span")).to_have_text(name)
    assert name == format_class_name(dogs, int(dogs.probabilities(OPENING).argmax())) and clicks() == 1

    # Send what I see to a colleague.
    page.click("[data-opens=share]")
    expect(page.locator(".tn-share-link input")).to_have_value(re.compile("looks=25"))
    assert clicks() == 2
    page.keyboard.press("Escape")

    # Is this checkpoint centre-biased?
    page.get_by_role("tab", name="Audit").click()
    expect(page.locator("#audit")).to_contain_text("Content or centre?")
    expect(page.locator("#audit")).to_contain_text("near the middle")  # of its first looks
    assert clicks() <= 4

    # How does it do on my forty photographs?
    before = clicks()
    page.get_by_role("tab", name="Your data").click()
    with page.expect_file_chooser() as chooser:
        page.locator("#your-data-zip button").first.click()
    chooser.value.set_files(zip_of_photographs(tmp_path / "mine.zip"))  # one more click, in the system's own window
    expect(page.locator("#your-data-zip")).to_contain_text("mine")
    page.click("#your-data-start")
    expect(page.locator("#your-data-result")).to_contain_text("on 40 images", timeout=240_000)
    assert clicks() - before + 1 <= 4


def zip_of_photographs(path: Path) -> Path:
    """Forty cuts of two examples, in folders that are called like two breeds."""
    with zipfile.ZipFile(path, "w") as archive:
        for file, breed in (("dogs.jpg", "English cocker spaniel"), ("cat.jpg", "Abyssinian")):
            with Image.open(EXAMPLES_FOLDER / file) as photograph:
                for number in range(20):
                    buffer = io.BytesIO()
                    width, height = photograph.size
                    photograph.crop((number, number, width - 20 + number, height - 20 + number)).save(buffer, "JPEG")
                    archive.writestr(f"mine/{breed}/{number}.jpg", buffer.getvalue())
    return path
