"""The YAML of recipes: one reading of numbers and truth values, no anchors, no key twice.

PyYAML follows YAML 1.1, in which `1e-3` is a text, `no` is false and `1:30` is ninety. Recipes use
the simpler rules of YAML 1.2, both when they are read and when they are written.
"""

from __future__ import annotations

import re
from typing import Any

import yaml

from tnet_core.checkpoints.files import reason
from tnet_core.errors import TNetError

_RULES = (
    ("null", r"~|null|Null|NULL|", ["~", "n", "N", ""]),
    ("bool", r"true|True|TRUE|false|False|FALSE", list("tTfF")),
    ("int", r"[-+]?(?:0|[1-9][0-9_]*)", list("-+0123456789")),
    (
        "float",
        r"[-+]?(?:[0-9][0-9_]*\.[0-9_]*|\.[0-9]+)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+",
        list("-+.0123456789"),
    ),
)


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers: dict[str, Any] = {}  # noqa: RUF012 (declared so by the library)

    def compose_node(self, parent: Any, index: Any) -> Any:
        # An anchor that is repeated often enough fills any memory, so there are none.
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            raise yaml.MarkedYAMLError(problem="anchors (& and *) are not allowed", problem_mark=event.start_mark)
        return super().compose_node(parent, index)

    def construct_mapping(self, node: Any, deep: bool = False) -> dict[Any, Any]:
        seen: set[str] = set()
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value in seen:
                raise yaml.MarkedYAMLError(problem=f"key '{key.value}' appears twice", problem_mark=key.start_mark)
            seen.add(key.value if isinstance(key, yaml.ScalarNode) else "")
        return super().construct_mapping(node, deep)


class _Dumper(yaml.SafeDumper):
    """Quotes what YAML 1.1 or YAML 1.2 would read as something else than a text."""


for _tag, _pattern, _first in _RULES:
    for _class in (_Loader, _Dumper):
        _class.add_implicit_resolver(f"tag:yaml.org,2002:{_tag}", re.compile(f"^(?:{_pattern})$"), _first)


def parse(text: str | bytes) -> Any:
    """Plain values of a YAML text."""
    try:
        return yaml.load(text.decode("utf-8") if isinstance(text, bytes) else text, Loader=_Loader)
    except UnicodeDecodeError:
        raise TNetError("it is not UTF-8 text.") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        where = f" (line {mark.line + 1})" if mark else ""
        problem = getattr(error, "problem", None) or reason(error)
        raise TNetError(f"it is not valid YAML: {problem}{where}.") from None


def dump(value: Any) -> str:
    """A text that `parse` reads back to an equal value."""
    return yaml.dump(value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=120)
