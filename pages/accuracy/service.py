"""The service behind Accuracy vs locations: which curves there are, and what can be chosen. Knows no component."""

from __future__ import annotations

from typing import Any

from pages.server.model_cache import Cards
from viz.accuracy.catalogue import Catalogue, DataSet
from viz.accuracy.selection import Selection
from viz.common.curves import ROLES


class CatalogueCache:
    """Keeps the catalogue of all cards. Asking for cards may wait for a download: only opening the tab does so."""

    def __init__(self, cards: Cards) -> None:
        self._cards = cards
        self._seen = list(cards())
        self.catalogue = Catalogue(self._seen)

    def refresh(self) -> Catalogue:
        """Return the catalogue, made again only when other cards are there."""
        cards = list(self._cards())
        if len(cards) != len(self._seen) or any(a is not b for a, b in zip(cards, self._seen, strict=True)):
            self.catalogue, self._seen = Catalogue(cards), cards
        return self.catalogue


def find_explored_data(catalogue: Catalogue, spec: Any) -> str | None:
    """Return the key of the data set that the explored checkpoint was measured on; None where it was on none."""
    found = catalogue.find_measured(spec) if isinstance(spec, str) else None
    return None if found is None else found.key


def data_set_choices(catalogue: Catalogue, chosen: DataSet) -> dict[str, Any]:
    """Return the data sets to choose from, and the chosen one."""
    return {"choices": [(data.choice, data.key) for data in catalogue.data_sets], "value": chosen.key}


def curve_choices(shown: Selection) -> dict[str, dict[str, Any]]:
    """Return the lists to tick, what is shown being ticked; one without entries is hidden."""
    data = shown.data
    lists = {
        "measured": ("Measured here", [(curve.label, curve.id) for curve in data.measured]),
        "roles": ("The same checkpoints, looking or stopping otherwise", [(ROLES[r].label, r) for r in data.roles]),
        "published": ("Published in the paper", [(curve.label, curve.id) for curve in data.published]),
        "peers": (
            "Published by others, on their own terms",
            [(curve.label + (", second hand" if curve.is_second_hand else ""), curve.id) for curve in data.peers],
        ),
    }
    ticked = {curve.id for curve in shown.curves} | {curve.role for curve in shown.curves}
    return {
        name: {
            "label": label,
            "choices": choices,
            "value": [value for _, value in choices if value in ticked],
            "visible": bool(choices),
        }
        for name, (label, choices) in lists.items()
    }


def slider_range(shown: Selection) -> dict[str, Any]:
    """Return the numbers of looks to choose from, and the chosen one."""
    return {"minimum": 0, "maximum": shown.data.slider_stops[-1], "step": shown.data.slider_step, "value": shown.looks}
