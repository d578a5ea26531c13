"""The address names the open tab and its settings: a reload keeps them, Back goes back, somebody else sees the same."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from pages.site import TABS
from tests.browser.conftest import Arrive
from tests.support.models import picture

Visit = Callable[..., Page]
BIRDS, NEEDLES = "tnet-lite0-cub", "tnet-needles"
# Something that only the shown tab has.
SHOWN = {
    "compare": ".compare-constant:not(:empty)",
    "audit": ".audit-card",
    "what-if": ".what-if-verdict",
    "accuracy": ".accuracy-head",
    "your-data": "#your-data-start",
}


@pytest.fixture(scope="module")
def server(birds_first: str) -> str:
    return birds_first


@pytest.fixture
def follow(server: str, visit: Visit) -> Callable[[str], Page]:
    """Opens a link, in a page that shows nothing else before."""

    def open_link(link: str) -> Page:
        def arrive(page: Page) -> None:
            page.goto(f"{server}/?{link}")

        return visit(arrive=arrive)

    return open_link


def query(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in parse_qs(urlsplit(page.url).query).items() if name != "__theme"}


def wait_for_query(page: Page, **wanted: str) -> None:
    for name, value in wanted.items():
        page.wait_for_function(
            "([name, value]) => new URLSearchParams(location.search).get(name) === value", arg=[name, value]
        )


def open_tab(page: Page, tab: str) -> None:
    page.get_by_role("tab", name=TABS[tab], exact=True).click()
    expect_tab(page, tab)


def expect_tab(page: Page, tab: str) -> None:
    expect(page.locator("#tabs [role=tab][aria-selected=true]")).to_have_text(TABS[tab])
    if tab in SHOWN:
        expect(page.locator(SHOWN[tab]).first).to_be_visible()


def test_tabs_are_steps_of_history_and_a_reload_keeps_them(visit: Visit) -> None:
    page = visit()
    assert query(page) == {}
    order = ("your-data", "accuracy", "audit")
    for tab in order:
        open_tab(page, tab)
        wait_for_query(page, tab=tab)
    for tab in order[-2::-1]:
        page.go_back()
        expect_tab(page, tab)
        wait_for_query(page, tab=tab)
    page.go_back()
    expect_tab(page, "explore")
    expect(page.locator(".tn-stage").first).to_be_visible()
    page.wait_for_function("!location.search.includes('tab=')")
    page.go_forward()
    expect_tab(page, "your-data")
    page.reload()
    expect_tab(page, "your-data")
    assert query(page)["tab"] == "your-data"


def test_settings_are_of_the_shown_tab_alone_and_of_one_step(visit: Visit) -> None:
    page = visit()
    open_tab(page, "compare")
    page.select_option(".compare-side[data-side=b] select", "raster")
    wait_for_query(page, tab="compare", compare="policies", a="learned", b="raster", checkpoint=BIRDS)
    page.select_option(".compare-side[data-side=b] select", "random")
    wait_for_query(page, b="random-0")
    open_tab(page, "accuracy")
    wait_for_query(page, tab="accuracy", x="locations")
    assert not query(page).keys() & {"compare", "a", "b"}
    page.go_back()  # one step, however often a setting was changed
    expect_tab(page, "compare")
    wait_for_query(page, b="random-0")
    expect(page.locator(".compare-side[data-side=b] select")).to_have_value("random")
    page.go_back()
    expect_tab(page, "explore")


def test_a_comparison_can_be_sent(visit: Visit, follow: Callable[[str], Page]) -> None:
    page = visit()
    open_tab(page, "compare")
    page.check("[name=compare-mode][value=checkpoints]")
    page.select_option(".compare-side[data-side=b] select", NEEDLES)
    wait_for_query(page, compare="checkpoints", a=BIRDS, b=NEEDLES)
    page.locator(".compare-sliders [data-level='0']").first.fill("2")
    page.wait_for_function("new URLSearchParams(location.search).get('compare-looks').startsWith('2')")
    other = follow(urlsplit(page.url).query)
    expect_tab(other, "compare")
    expect(other.locator(".compare-side[data-side=b] select")).to_have_value(NEEDLES)
    for part in (".compare-sliders output", ".compare-constant", ".compare-decision"):
        expect(other.locator(part).first).to_have_text(page.locator(part).first.text_content() or "?")
    assert query(other) == query(page)


def test_own_cells_and_seeds_can_be_sent_and_what_is_not_there_is_named(follow: Callable[[str], Page]) -> None:
    page = follow("tab=compare&compare=policies&a=own.3.1&b=random-7&compare-looks=1")
    expect_tab(page, "compare")
    expect(page.locator(".compare-side[data-side=b] .compare-seed input")).to_have_value("7")
    expect(page.locator(".compare-column[data-side=a] .compare-mine [aria-pressed=true]")).to_have_count(2)
    expect(page.locator(".compare-sliders output").first).to_have_text("1 / 25")
    page = follow("tab=compare&compare=pictures&a=current&b=uploaded")
    expect_tab(page, "compare")
    expect(page.locator(".compare .tn-sentence")).to_contain_text("an uploaded picture, which is not in it")


def test_a_change_can_be_sent(visit: Visit, follow: Callable[[str], Page]) -> None:
    page = visit()
    open_tab(page, "what-if")
    wait_for_query(page, change="paste")
    page.locator("#what-if-kind input[value=scale]").check()
    wait_for_query(page, change="scale", size="160")
    page.locator(".what-if-k input").fill("3")
    wait_for_query(page, **{"what-if-looks": "3"})
    other = follow(urlsplit(page.url).query)
    expect_tab(other, "what-if")
    for part in (".what-if-after h3", ".what-if-k output", ".what-if-verdict p:visible"):
        expect(other.locator(part)).to_have_text(page.locator(part).text_content() or "?")
    expect(other.locator("#what-if-kind input[value=scale]")).to_be_checked()
    expect(other.locator("#what-if-scale")).to_be_visible()
    wrong = follow("tab=what-if&change=shift&right=99&down=0")
    expect(wrong.locator("#what-if-problem")).to_contain_text("The link could not be followed: A shift in cells")
    expect(wrong.locator("#what-if-kind input[value=paste]")).to_be_checked()


def test_an_audit_can_be_sent(follow: Callable[[str], Page]) -> None:
    page = follow(f"tab=audit&audit={NEEDLES}&audit-looks=2")
    expect_tab(page, "audit")
    expect(page.locator("#audit-chooser input")).to_have_value("Needles, three levels")
    expect(page.locator("[data-map-looks]")).to_have_value("2")
    names = page.locator("[data-map-class] option, #audit datalist option").evaluate_all("all => all.map(o => o.value)")
    name = next(name for name in names if name)
    other = follow(f"tab=audit&audit={NEEDLES}&audit-class={name}")
    expect_tab(other, "audit")
    expect(other.locator("[data-shows=taken] .audit-said")).to_contain_text(name)
    wait_for_query(other, audit=NEEDLES, **{"audit-class": name})
    wrong = follow("tab=audit&audit=nobody")
    expect(wrong.locator("#audit-noted")).to_contain_text("There is no evaluated checkpoint")
    expect_tab(wrong, "audit")


def test_data_set_and_axes_can_be_sent(follow: Callable[[str], Page]) -> None:
    page = follow("tab=accuracy&data=nabirds&x=flops&y=top1")
    expect_tab(page, "accuracy")
    expect(page.locator("#accuracy-data input")).to_have_value("NABirds")
    expect(page.locator("#accuracy-x input[value=flops]")).to_be_checked()


def test_an_unknown_tab_is_explore(follow: Callable[[str], Page]) -> None:
    page = follow("tab=%3Cscript%3E")
    expect_tab(page, "explore")
    page.wait_for_function("!location.search.includes('tab=')")


def test_a_wrong_checkpoint_keeps_the_example(follow: Callable[[str], Page], arrive: Arrive) -> None:
    page = follow("checkpoint=nobody&example=nuthatch&looks=1")
    arrive(page)
    expect(page.locator("#explore-problem")).to_contain_text("the checkpoint 'nobody' is not offered here")
    wait_for_query(page, checkpoint=BIRDS, example="nuthatch")


def test_a_link_of_an_uploaded_picture_says_that_it_is_not_in_it(
    visit: Visit, follow: Callable[[str], Page], arrive: Arrive, tmp_path: Path
) -> None:
    page, buffer = visit(), io.BytesIO()
    Image.fromarray(picture(90, 120, seed=3)).save(buffer, "PNG")
    (tmp_path / "mine.png").write_bytes(buffer.getvalue())
    page.set_input_files("#explore-pick input[type=file]", tmp_path / "mine.png")
    wait_for_query(page, picture="own")
    other = follow(urlsplit(page.url).query)
    arrive(other)
    expect(other.locator("#explore-problem")).to_contain_text("an uploaded picture, which is not in it")
    other.wait_for_function("!location.search.includes('picture=own')")  # an example is shown, and named
