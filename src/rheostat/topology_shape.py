"""Topology shape: what state and journals depend on, as plain data, and how two shapes differ in words."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheostat.topology import Topology

Shape = Mapping[str, Any]
"""`sources`: their names. `operators`: by name, their `inputs`, `outputs`, `key` and `substreams`."""


def shape_of(topology: "Topology") -> dict[str, Any]:
    return {
        "sources": sorted(topology.sources),
        "operators": {
            operator.name: {
                "inputs": list(operator.inputs),
                "outputs": sorted(operator.selectivities),
                "key": operator.key,
                "substreams": operator.substreams,
            }
            for operator in topology.operators.values()
        },
    }


def fingerprint_of(shape: Shape) -> str:
    plain = {
        "sources": shape["sources"],
        "operators": [[name, *operator.values()] for name, operator in shape["operators"].items()],
    }
    return hashlib.sha256(json.dumps(plain).encode()).hexdigest()[:16]


def differences(before: Shape, now: Shape) -> list[str]:
    """What has changed, in words: "operator 'count' is new", "the key of operator 'count' was 'word' and is 'term'"."""
    found = [*_names("source", before["sources"], now["sources"])]
    found += _names("operator", before["operators"], now["operators"])
    for name in before["operators"]:
        if name in now["operators"]:
            found += _changed(name, before["operators"][name], now["operators"][name])
    if not found and list(before["operators"]) != list(now["operators"]):
        found.append(f"the operators were in the order {', '.join(before['operators'])}")
    return found


def _names(what: str, before: Iterable[str], now: Iterable[str]) -> Iterator[str]:
    old, new = list(before), list(now)
    yield from (f"{what} {name!r} is new" for name in new if name not in old)
    yield from (f"{what} {name!r} is gone" for name in old if name not in new)


def _changed(name: str, before: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    for field, word in (("inputs", "were"), ("outputs", "were"), ("key", "was"), ("substreams", "were")):
        if before[field] != now[field]:
            to_be = "is" if word == "was" else "are"
            yield f"the {field} of operator {name!r} {word} {_text(before[field])} and {to_be} {_text(now[field])} now"


def _text(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return "none" if value is None else repr(value)
