"""The stage: one traversal, sent once, that plays in the browser.

`payload` makes what is sent: the picture, the crops, every look's class projections, and the weights of every set of
looks that sliders and steps can show. `template.html`, `stage.css` and `js/` draw it; nothing there asks the server
except to steer to a set of looks whose weights were not sent.
"""

from viz.stage.page import head, on_file, on_load, on_part, template
from viz.stage.payload import Plate, scene_payload, steer_payload

__all__ = ["Plate", "head", "on_file", "on_load", "on_part", "scene_payload", "steer_payload", "template"]
