"""What a visitor takes along: figures, ledger, trace, picture and report are what the page shows."""

from __future__ import annotations

import base64
import csv
import io
import json
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import BrowserContext, Page, expect

import tests.support.models as models
import tnet_core as tn
from tests.browser.reading import assert_shows, find_rival, wait_for_looks
from tests.support.stage_page import scene, staged
from tnet_core.__main__ import main as command
from tools.local_server import FINISHED
from viz.common.payload import encode_webp
from viz.common.text import format_fixed, format_number, format_percent, format_signed, make_readable
from viz.examples import draw_picture

Visit = Callable[..., Page]
FIGURES = ("picture", "decision", "ledger", "looks", "levels", "prediction")
# Names that would be taken for something else by a page, by a drawing or by a spreadsheet.
NAMES = ("</script><script>stolen()</script>", "=1+1", '+a,"b"', "-c & d", "@e <f>", "g", "h\nand more")
TITLE = "=a <b>&'\" </script>.png"
LIMIT = 8_000_000


def take_file(page: Page, what: str) -> tuple[str, bytes]:
    """Name and content of a file."""
    with page.expect_download() as download:
        page.click(f"[data-file='{what}']")
    return download.value.suggested_filename, download.value.path().read_bytes()


@pytest.fixture(scope="module")
def hostile() -> tn.Trace:
    """A picture traversed with three levels, and class names nobody should trust."""
    model = tn.build(models.TINY_3L)
    model.load_state_dict(models.tiny(models.TINY_3L).state_dict())
    model.class_names = NAMES
    return tn.traverse(model, models.picture(seed=3), budget=(3, 2))


@pytest.fixture
def alone(browser: BrowserContext, hostile: tn.Trace, tmp_path: Path) -> Iterator[Page]:
    page = staged(browser, scene(hostile, models.picture(seed=3), TITLE), tmp_path)
    yield page
    page.close()


def read_svg(data: bytes) -> tuple[ElementTree.Element, str]:
    """Checked to be a drawing that needs nothing else; its texts, one per line."""
    root = ElementTree.fromstring(data)
    for element in root.iter():
        name = element.tag.rpartition("}")[2]
        assert name not in ("foreignObject", "script", "style", "a", "use")
        for attribute, value in element.attrib.items():
            assert not attribute.startswith("on")
            if attribute.endswith("href"):
                assert name == "image" and value.startswith("data:image/jpeg;base64,")
            assert "url(" not in value or re.fullmatch(r"url\(#[\w-]+\)", value)
    texts = ["".join(element.itertext()) for element in root.iter() if element.tag.endswith("}text")]
    return root, "\n".join(texts)


def test_figures_hold_what_the_page_shows(alone: Page, hostile: tn.Trace) -> None:
    page, looks = alone, hostile.select(budget=(2, 2))
    logits = hostile.logits(subset=looks)
    order = np.argsort(-logits, kind="stable")[:5]
    rival = find_rival(hostile, looks, int(order[0]))
    shares, weights = hostile.contributions(int(order[0]), rival, subset=looks), hostile.weights(subset=looks)
    probabilities = hostile.probabilities(subset=looks)
    left = tn.explain.leave_one_out(hostile, int(order[0]), rival, subset=looks, measure="probability")
    expected = {
        "picture": ["1", "2", "1.1", "2.2", "128 × 128 px"],
        "decision": [
            "DECISION",
            *(format_percent(float(probabilities[c])) for c in order),
            "From the thumbnail and 6 looks",
        ],
        "ledger": [
            *(format_signed(float(v)) for v in shares.values),
            *(format_number(float(w)) for w in weights),
            format_fixed(shares.total),
            "without it",
            *(f"{format_signed(100 * value)} points" for value in left.without if value is not None),
        ],
        "looks": ["LOOKS", "context", "look 2.2", *(format_signed(float(v)) for v in shares.values)],
        "levels": ["level 1: the thumbnail", "level 2: inside look 2", "1.1"],
        "prediction": ["100 %", "would stop here", "70 points", *(make_readable(NAMES[c]) for c in order[:2])],
    }
    for what in FIGURES:
        name, data = take_file(page, f"{what}.svg")
        assert name == f"a-b-script-untrained-{what}.svg"
        root, text = read_svg(data)
        for part in expected[what]:
            assert part.replace("\N{NO-BREAK SPACE}", " ") in text.replace("\N{NO-BREAK SPACE}", " "), (what, part)
        if what == "decision":
            for cls in order:
                assert all(word in text for word in make_readable(NAMES[cls]).split())
        _, pixels = take_file(page, f"{what}.png")
        figure = Image.open(io.BytesIO(pixels)).convert("RGB")
        assert figure.size == (2 * int(root.attrib["width"]), 2 * int(root.attrib["height"]))
        assert figure.getpixel((2, 2)) == (255, 255, 255)
        assert np.asarray(figure.resize((60, 60))).std() > 4  # something is drawn
    assert page.locator(".tn-figure").count() == 0
    assert "wait" not in (page.locator(".tn-export [role=status]").text_content() or "")


# Where an element lies inside its panel, from the panel's first text or image, when that is drawn with its caption.
INSIDE = """([panel, part]) => {
  const whole = document.querySelector(panel), why = whole.querySelector(".tn-why");
  whole.classList.add("tn-figure");
  if (why) why.open = true;
  const first = document.querySelector(panel + ' h2')?.firstChild, range = document.createRange();
  if (first) range.selectNodeContents(first);
  const from = first ? range.getBoundingClientRect() : document.querySelector(part).getBoundingClientRect();
  const to = document.querySelector(part).getBoundingClientRect();
  whole.classList.remove("tn-figure");
  if (why) why.open = false;
  return [to.left - from.left, to.top - from.top]; }"""


def test_a_figure_looks_like_its_panel(alone: Page) -> None:
    """The drawing of our own, pixel by pixel beside what the browser painted."""
    page = alone
    parts = {"picture": ".tn-frame", "decision": ".tn-decision > ol", "levels": ".tn-levels .tn-grid"}
    for what, part in parts.items():
        _, data = take_file(page, f"{what}.png")
        page.mouse.move(1, 1)
        page.evaluate("document.activeElement.blur()")
        seen = Image.open(io.BytesIO(page.locator(part).first.screenshot())).convert("RGB")
        figure = Image.open(io.BytesIO(data)).convert("RGB")
        figure = figure.resize((figure.width // 2, figure.height // 2), Image.Resampling.BOX)
        x, y = (16 + round(offset) for offset in page.evaluate(INSIDE, [f".tn-{what}", part]))
        apart = [difference(figure.crop((i, j, i + seen.width, j + seen.height)), seen)
                 for i in range(x - 1, x + 2) for j in range(y - 1, y + 2)]  # fmt: skip
        assert min(apart) < 8 < difference(Image.new("RGB", seen.size, "white"), seen), (what, min(apart))


def difference(one: Image.Image, other: Image.Image) -> float:
    return float(np.abs(np.asarray(one, int) - np.asarray(other, int)).mean())


def test_the_ledger_as_a_table_has_every_digit_and_no_formula(alone: Page, hostile: tn.Trace) -> None:
    page = alone
    page.focus("[data-choose=cls]")
    page.select_option("[data-choose=cls]", "1")
    page.focus("[data-choose=versus]")
    page.select_option("[data-choose=versus]", "2")
    name, data = take_file(page, "csv")
    assert name == "a-b-script-untrained-ledger.csv"
    rows = list(csv.DictReader(io.StringIO(data.decode("utf-8"))))
    looks = hostile.select(budget=(2, 2))
    shares = hostile.contributions(1, 2, subset=looks)
    names = ["1", "2", "1.1", "1.2", "2.1", "2.2"]
    assert [row["row"] for row in rows] == ["context", *(f"look {n}" for n in names), "bias", "total"]
    assert {(row["class"], row["against"]) for row in rows} == {("'=1+1", "'" + make_readable(NAMES[2]))}
    close: dict[str, Any] = {"rtol": 1e-6, "atol": 1e-6}
    np.testing.assert_allclose(
        [float(r["contribution"]) for r in rows], [*shares.values, shares.bias, shares.total], **close
    )
    np.testing.assert_allclose([float(r["weight"]) for r in rows[:-2]], hostile.weights(subset=looks), **close)
    for measure in ("probability", "logit"):
        left = tn.explain.leave_one_out(hostile, 1, 2, measure=measure, subset=looks)
        shown = [float(r[f"{measure}_without"]) for r in rows[:-2]]
        np.testing.assert_allclose(shown, np.array(left.without, dtype=float), **close)
    chances = hostile.probabilities(subset=looks)
    assert float(rows[-1]["probability"]) == pytest.approx(chances[1] - chances[2], abs=1e-6)
    assert [row["probability"] for row in rows[:-1]] == [""] * (len(rows) - 1)
    for column, cls in (("projection", 1), ("projection_against", 2)):
        expected = [*hostile.projections[[0, *(p + 1 for p in looks)], cls], hostile.bias[cls]]
        np.testing.assert_allclose([float(r[column]) for r in rows[:-1]], expected, rtol=1e-15)
    for row, look in zip(rows[1:], [hostile.locations[p] for p in looks], strict=False):
        assert [int(row[key]) for key in ("level", "cell", "rank")] == [look.level, look.index, look.rank]
        assert [float(row[key]) for key in ("x0", "y0", "x1", "y1")] == list(look.box)
        assert float(row["lift"]) == look.lift
        assert row["inside"] == ("" if look.parent is None else f"look {look.parent + 1}")


@pytest.fixture
def sealed(browser: BrowserContext) -> Iterator[BrowserContext]:
    """A browser profile of its own, without a network."""
    assert browser.browser is not None
    context = browser.browser.new_context(offline=True, viewport={"width": 1440, "height": 900})
    yield context
    context.close()


def opened(context: BrowserContext, file: Path) -> tuple[Page, list[str]]:
    """The report, and whatever it asked for or complained about."""
    page, found = context.new_page(), list[str]()
    page.on("request", lambda request: found.append(request.url) if not request.url.startswith("data:") else None)
    page.on("console", lambda message: found.append(message.text))
    page.on("pageerror", lambda error: found.append(str(error)))
    page.goto(file.as_uri())
    page.wait_for_selector(FINISHED)
    assert found.pop(0) == file.as_uri()
    return page, found


def test_the_report_opens_alone_as_the_page_stood(
    alone: Page, hostile: tn.Trace, sealed: BrowserContext, tmp_path: Path
) -> None:
    alone.select_option(".tn-threshold select", "0.3")
    alone.check(".tn-spot input")
    alone.select_option("[data-measure]", "logit")
    alone.focus("[data-choose=cls]")
    alone.select_option("[data-choose=cls]", "0")
    alone.focus(".tn-budgets input >> nth=0")
    alone.keyboard.press("ArrowLeft")
    wait_for_looks(alone, 3)
    alone.focus(".tn-scrub input")
    alone.keyboard.press("ArrowLeft")
    assert_shows(alone, hostile, [0, 3], cls=0)
    name, data = take_file(alone, "report")
    assert (name, len(data) < LIMIT) == ("a-b-script-untrained-report.html", True)
    text = data.decode("utf-8")
    assert text.count("</script") == 2  # its scene and its code
    assert not re.search(r"(src|href|action)=[\"']?https?:|@import|url\([\"']?http", text)
    file = tmp_path / name
    file.write_bytes(data)
    page, found = opened(sealed, file)
    assert_shows(page, hostile, [0, 3], cls=0)
    assert page.title() == f"{TITLE}: TNet Explorer report"
    expect(page.locator(".tn-report h1")).to_have_text(TITLE)
    facts = page.locator(".tn-report dl")
    for fact in (hostile.image.sha256, "sha256 of its pixels", "2 looks (1, 1.1)", "torch", "3-level TNet"):
        expect(facts).to_contain_text(fact)
    expect(page.locator(".tn-threshold select")).to_have_value("0.3")
    expect(page.locator(".tn-spot input")).to_be_checked()
    expect(page.locator("[data-measure]")).to_have_value("logit")
    expect(page.locator("[data-asks]:visible")).to_have_count(0)
    # it plays
    page.keyboard.press("3")
    assert_shows(page, hostile, (3, 2), cls=0)
    page.select_option("[data-choose=versus]", "second")
    page.focus(".tn-budgets input >> nth=1")
    page.keyboard.press("Home")
    rival = next(int(c) for c in np.argsort(-hostile.logits(budget=(3, 0)), kind="stable") if c != 0)
    assert_shows(page, hostile, (3, 0), cls=0, versus=rival)
    page.select_option("[data-measure]", "probability")
    assert_shows(page, hostile, (3, 0), cls=0, versus=rival)
    # what it cannot know it says, and nothing changes
    page.click(f".tn-tint [data-cell='{hostile.locations[0].index}']")
    expect(page.locator(".tn-sentence")).to_have_text(
        "This file holds no weights for that set of looks: only the app can compute them."
    )
    assert_shows(page, hostile, (3, 0), cls=0, versus=rival)
    # and its figures can be taken again
    _, drawn = take_file(page, "decision.svg")
    assert "From the thumbnail and 3 looks" in read_svg(drawn)[1]
    assert found == []  # nothing was asked for, and no name ran as a script


def test_the_report_is_printed_without_controls(alone: Page, sealed: BrowserContext, tmp_path: Path) -> None:
    (tmp_path / "report.html").write_bytes(take_file(alone, "report")[1])
    page, _ = opened(sealed, tmp_path / "report.html")
    page.emulate_media(media="print", color_scheme="dark")
    for hidden in (".tn-transport", ".tn-budgets", ".tn-export", ".tn-choose", ".tn-threshold", "button[data-go]"):
        assert not page.locator(hidden).first.is_visible(), hidden
    panels = (".tn-view", ".tn-decision", ".tn-ledger", ".tn-crops", ".tn-levels", ".tn-course")
    for panel in panels:
        assert page.locator(panel).is_visible()
    ground, ink = page.evaluate(
        "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"
    )
    assert (ground, ink) == ("rgb(255, 255, 255)", "rgb(0, 0, 0)")
    assert page.evaluate("getComputedStyle(document.querySelector('.tn-decision')).breakInside") == "avoid"
    assert page.pdf(format="A4").startswith(b"%PDF")


def test_the_largest_report_stays_below_the_limit(
    browser: BrowserContext, hostile: tn.Trace, sealed: BrowserContext, tmp_path: Path
) -> None:
    """A thousand classes, eighty looks, and pictures that no format can compress."""
    generator = np.random.default_rng(0)

    def noise(side: int, quality: int) -> str:
        return encode_webp(generator.integers(0, 256, (side, side, 3), dtype=np.uint8), quality)

    sent = scene(hostile, models.picture(seed=3), "noise.png", picture=noise(1400, 86), thumbnail=noise(224, 80))
    rows, classes, crop = 81, 1000, noise(224, 80)
    sent["classes"] = [f"a class with a long name, number {c}" for c in range(classes)]
    sent["looks"] = [{**sent["looks"][i % 3], "name": str(i + 1), "crop": crop} for i in range(rows - 1)]
    sent["projections"] = encode_values(generator.normal(size=(rows, classes)))
    sent["bias"] = encode_values(generator.normal(size=classes))
    sent |= {"levels": 2, "most": [80], "shown": [80], "uniform": True, "weights": {"sets": [], "values": ""}}
    assert len(json.dumps(sent)) > LIMIT
    page = staged(browser, sent, tmp_path)
    name, data = take_file(page, "report")
    page.close()
    print(f"the largest report has {len(data) / 1e6:.2f} MB")
    assert len(data) < LIMIT
    (tmp_path / name).write_bytes(data)
    report, _ = opened(sealed, tmp_path / name)
    expect(report.locator(".tn-report p")).to_contain_text("compressed more strongly")
    wait_for_looks(report, 80)


def encode_values(values: np.ndarray) -> str:
    return base64.b64encode(values.astype("<f4").tobytes()).decode()


def test_the_trace_and_its_picture_can_be_checked_again(
    visit: Visit, reference: tn.Trace, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = visit()
    page.keyboard.press("3")
    wait_for_looks(page, 3)
    position = reference.locations[11]
    page.click(f".tn-tint [data-cell='{position.index}']")
    assert_shows(page, reference, [0, 1, 2, 11])
    name, text = take_file(page, "trace")
    assert name == "Harbour-at-dusk-untrained-trace.json"
    trace = tn.Trace.from_json(text)
    assert [look.path for look in trace.locations] == [look.path for look in reference.locations]
    assert trace.image == reference.image
    # the server's threads add up in another order than this process's
    np.testing.assert_allclose(trace.projections, reference.projections, rtol=1e-4, atol=2e-5)
    np.testing.assert_allclose(trace.logits(3), reference.logits(3), rtol=1e-4, atol=2e-5)
    # a drawn example has no file of its own: the page gives one
    file, data = take_file(page, "original")
    assert file == "Harbour-at-dusk-untrained-original.png"
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data))), draw_picture(0))
    for saved, content in ((name, text), (file, data)):
        (tmp_path / saved).write_bytes(content)
    shown = page.locator(".tn-export code").text_content() or ""
    assert shown == f"python -m tnet_core replay {name} --image FILE --preset lite0-cub"
    words = [str(tmp_path / {name: name, "FILE": file}[w]) if w in (name, "FILE") else w for w in shown.split()[3:]]
    assert command(words) == 0
    assert "The replay passed: 25 looks" in capsys.readouterr().out
    # a picture of one's own is the same file
    mine = tmp_path / "my picture.png"
    Image.fromarray(models.picture(60, 90, seed=4)).save(mine)
    page.set_input_files("#explore-pick input[type=file]", mine)
    expect(page.locator("figcaption")).to_contain_text("90 × 60 px")
    name, text = take_file(page, "trace")
    assert name == "my-picture-untrained-trace.json"
    (tmp_path / name).write_bytes(text)
    assert command(["replay", str(tmp_path / name), "--image", str(mine), "--preset", "lite0-cub"]) == 0
    assert take_file(page, "original")[1] == mine.read_bytes()
    # its report holds it, and no address
    report = take_file(page, "report")[1].decode()
    assert "<h1>my picture.png</h1>" in report and "127.0.0.1" not in report


def test_the_chart_of_the_comparison_can_be_taken(visit: Visit) -> None:
    page = visit()
    page.get_by_role("tab", name="Accuracy vs locations").click()
    page.wait_for_selector("#accuracy-chart svg [data-curve]")
    texts = page.locator("#accuracy-chart svg text").all_text_contents()
    assert len(texts) > 10

    def download(selector: str) -> tuple[str, bytes]:
        with page.expect_download() as found:
            page.locator(selector).click()
        return found.value.suggested_filename, found.value.path().read_bytes()

    name, data = download("[data-chart][data-format=svg]")
    assert re.fullmatch(r"tnet-comparison-[a-z0-9-]+\.svg", name)
    root, drawn = read_svg(data)
    for text in texts:
        assert text in drawn
    for label in page.locator("#accuracy-legend li:visible span").all_text_contents():
        assert label in drawn
    curves = page.locator("#accuracy-chart svg [data-curve] polyline").count()
    assert sum(element.tag.endswith("}polyline") for element in root.iter()) == curves > 0
    name, data = download("[data-chart][data-format=png]")
    figure = Image.open(io.BytesIO(data)).convert("RGB")
    assert figure.size == (2 * int(root.attrib["width"]), 2 * int(root.attrib["height"]))
    assert np.asarray(figure).std() > 10
