"""The fixed texts of the tab."""

from __future__ import annotations

NO_LOOKS = "This checkpoint sees the whole image at once: there are no looks that could follow anything."


def intro() -> str:
    return (
        '<div class="tn-head tnl-title"><h2>What if</h2><p>Change the picture that is open in Explore and see whether '
        "the looks follow its content or stay in position. What comes in from outside repeats the outermost pixels. It "
        "tells what the policy reacts to on this picture, not whether the reaction is right.</p></div>"
    )
