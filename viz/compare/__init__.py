"""The Compare tab: two traversals, sent once, set side by side in the browser.

`payload` makes what is sent: both columns, how alike their looks are at every budget, and which classes they share.
`template.html`, `compare.css` and `js/` draw it, on the arithmetic of the stage; sliders and the choice of a class ask
nothing of the server.
"""

from viz.compare.page import head, on_load, template
from viz.compare.payload import Column, offer_payload, pair_payload

__all__ = ["Column", "head", "offer_payload", "on_load", "pair_payload", "template"]
