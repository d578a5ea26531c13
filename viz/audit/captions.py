"""The tab's headings."""

from __future__ import annotations


def intro() -> str:
    return (
        '<div class="tna-title"><h2>Audit of a checkpoint</h2><p>Do looks follow content or the centre? What would '
        "simpler looks cost? Read from the checkpoint's evaluation; nothing is run. "
        '<button type="button" class="tn-jump" data-scroll-to="audit-picture">Faithfulness of the current picture'
        "</button> is below.</p></div>"
    )


def faithfulness() -> str:
    return (
        '<div class="tna-title"><h2>Faithfulness of the current picture</h2><p>The picture and the checkpoint that are '
        "open in Explore. Everything is recomputed from the features of the looks: the backbone does not run, and only "
        "the random orders are a (seeded) sample.</p></div>"
    )
