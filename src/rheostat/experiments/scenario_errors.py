"""Scenario errors: messages for invalid scenario files, with the field, its value and the allowed values."""

import re
from typing import Any, Literal, get_args, get_origin

import msgspec

from rheostat.sim.model import Batches, ClusterModel, OperatorModel, Service


def error_message(error: msgspec.ValidationError, content: dict[str, Any]) -> str:
    """msgspec's message in plain notation, with the value: "... - at operator[2].executors, which is -1"."""
    reason, _, where = str(error).replace("Object", "table").replace("`", "'").partition(" - at '$.")
    if not where:
        return reason
    path = where.rstrip("'")
    value, choices = _value_at(path, content), _choices(path.rpartition(".")[2])
    return f"{reason} - at {path}" + ("" if value is None else f", which is {value!r}") + choices


def _value_at(path: str, content: Any) -> Any:
    """The value at a path such as operator[2].executors; None for a table or an ambiguous path."""
    for name, index in re.findall(r"(\w+)|\[(\d+|\.\.\.)\]", path):
        if index == "...":
            return None
        content = content[int(index)] if index else content[name]
    return None if isinstance(content, dict | list) else content


def _choices(name: str) -> str:
    """The allowed values of a field that has only a few."""
    tables = (OperatorModel, Batches, Service, ClusterModel)
    types = [field.type for table in tables for field in msgspec.structs.fields(table) if field.name == name]
    words = [
        word
        for kind in types
        for each in (kind, *get_args(kind))
        if get_origin(each) is Literal
        for word in get_args(each)
    ]
    return f": use one of {', '.join(words)}" if words else ""
