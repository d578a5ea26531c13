"""Classes that two checkpoints have in common."""

from __future__ import annotations

from tnet_core.trace import Trace


def common_classes(a: Trace, b: Trace) -> tuple[tuple[int, int], ...]:
    """(class of a, class of b) with the same name, in the order of a.

    A name that a list has twice means its first class in both, its second in both, and so on. Where neither checkpoint
    names its classes they are matched by number; where one does, they have none in common.
    """
    if not a.class_names and not b.class_names:
        return tuple((cls, cls) for cls in range(min(len(a.bias), len(b.bias))))
    theirs = {key: cls for cls, key in enumerate(_keys(b.class_names))}
    return tuple((cls, theirs[key]) for cls, key in enumerate(_keys(a.class_names)) if key in theirs)


def _keys(names: tuple[str, ...]) -> list[tuple[str, int]]:
    """A name and how often it was met before."""
    met: dict[str, int] = {}
    keys = []
    for name in names:
        keys.append((name, met.get(name, 0)))
        met[name] = met.get(name, 0) + 1
    return keys
