"""The words of the tab, as escaped HTML."""

from __future__ import annotations

import html

INTRO = (
    '<div class="tno-head"><h2>Evaluate your own data</h2><p>Accuracy of a checkpoint on labelled images of yours, for '
    "every number of looks, beside looks at the centre and at random. It measures; nothing is learned, kept or "
    "published.</p></div>"
)

LAYOUT = (
    '<details class="tno-why"><summary>How to pack the zip</summary><p>One folder per class, named as the checkpoint '
    "names it; <code>Black-footed Albatross</code>, <code>001.Black_footed_Albatross</code> and "
    "<code>black_footed_albatross</code> are the same. The folder right above an image is its class, whatever lies "
    "around it. Classes that the checkpoint does not know are left out, and so is everything that is no image; the "
    "result says what. At most 50 MB, 5,000 images, 50 million pixels each. The images are removed when the evaluation "
    "ends.</p></details>"
)

waiting = '<p class="tno-note">Choose a zip and press Evaluate; the table comes here.</p>'


def shown_in_chart(name: str) -> str:
    return (
        f'<p class="tno-note" role="status">The curve is in the tab <b>Accuracy vs locations</b> as '
        f"<b>Your data: {html.escape(name)}</b>, for you alone and while this page is open.</p>"
    )
