"""The camera by itself in Chromium: what it gives to the upload button."""

from __future__ import annotations

from playwright.sync_api import BrowserContext, expect

from viz.common.templates import read_elements
from viz.web.join import join_modules

CODE = join_modules("explore/uploads.js", "TNetBring")
PAGE = f"""<!doctype html><script>{CODE}</script>
<div id="explore-pick"><input type="file">{read_elements("explore/camera.html")}</div>
<script>window.given = []; TNetBring.mountUploads(document.body);
document.querySelector('input').addEventListener('change', event => given.push(event.target.files[0].name));</script>"""


def test_two_clicks_take_one_picture_and_the_next_time_another(browser: BrowserContext) -> None:
    page = browser.new_page()
    try:
        page.route("http://localhost/", lambda route: route.fulfill(body=PAGE, content_type="text/html; charset=utf-8"))
        page.goto("http://localhost/")  # a camera is only lent to such an address
        for count in (1, 2):
            page.click(".tn-camera")
            page.wait_for_function("document.querySelector('.tn-dialog video').videoWidth > 0")
            page.evaluate(
                "() => { const take = document.querySelector('[data-camera=take]'); take.click(); take.click(); }"
            )
            expect(page.locator(".tn-dialog")).not_to_be_visible()
            page.wait_for_timeout(300)  # a second picture would come now
            assert page.evaluate("given") == ["camera.jpg"] * count
    finally:
        page.close()
