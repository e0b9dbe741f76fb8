"""What is wrong with a scenario file, in words: where it stands, what stands there, and what could."""

import re
from typing import Any, Literal, get_args, get_origin

import msgspec

from rheostat.sim.model import ClusterModel, OperatorModel, Service


def in_words(error: msgspec.ValidationError, content: dict[str, Any]) -> str:
    """msgspec's message without its notation, and with the value: operator[2].executors, which is -1."""
    reason, _, where = str(error).replace("Object", "table").replace("`", "'").partition(" - at '$.")
    if not where:
        return reason
    path = where.rstrip("'")
    value, choices = _value_at(path, content), _choices(path.rpartition(".")[2])
    return f"{reason} - at {path}" + ("" if value is None else f", which is {value!r}") + choices


def _value_at(path: str, content: Any) -> Any:
    """What stands at a path such as operator[2].executors; None for a table, or where a path cannot tell."""
    for name, index in re.findall(r"(\w+)|\[(\d+|\.\.\.)\]", path):
        if index == "...":
            return None
        content = content[int(index)] if index else content[name]
    return None if isinstance(content, dict | list) else content


def _choices(name: str) -> str:
    """What a field can be that has a few values only."""
    tables = (OperatorModel, Service, ClusterModel)
    types = [field.type for table in tables for field in msgspec.structs.fields(table) if field.name == name]
    words = [
        word
        for kind in types
        for each in (kind, *get_args(kind))
        if get_origin(each) is Literal
        for word in get_args(each)
    ]
    return f": use one of {', '.join(words)}" if words else ""
