"""Settings template: a commented TOML file with all settings of `rheostat run`, their defaults and examples."""

import json
from typing import Any

import msgspec

from rheostat.cli.run_settings import RunSettings

_HEAD = """\
# Settings of `rheostat run --config FILE`. Options of the command line win over them.
# Paths are relative to the folder that the command runs in.
"""
_GIVEN = ("app", "sla")
"""Settings that every run needs: they are shown with their examples, ready to be changed."""


def settings_template() -> str:
    """The file's text. Settings without a default are commented out, with an example."""
    fields = msgspec.structs.fields(RunSettings)
    plain = [field for field in fields if not _is_table(field)]
    tables = [field for field in fields if _is_table(field)]
    return "\n".join([_HEAD, *map(_setting, plain), *map(_table, tables)])


def _setting(field: msgspec.structs.FieldInfo) -> str:
    description, example = _meta(field)
    if field.encode_name in _GIVEN:
        line = f"{field.encode_name} = {_value(example)}"
    elif field.default is None or field.default is msgspec.NODEFAULT:
        line = f"# {field.encode_name} = {_value([example] if _is_list(field) else example)}"
    else:
        line = f"{field.encode_name} = {_value(field.default)}"
    return f"# {description}\n{line}\n"


def _table(field: msgspec.structs.FieldInfo) -> str:
    description, example = _meta(field)
    entries = "".join(f"# {_key(name)} = {_value(value)}\n" for name, value in example.items())
    return f"# {description}\n[{field.encode_name}]\n{entries}"


def _meta(field: msgspec.structs.FieldInfo) -> tuple[str, Any]:
    info = msgspec.inspect.type_info(field.type)
    assert isinstance(info, msgspec.inspect.Metadata)
    schema = info.extra_json_schema or {}
    description, examples = str(schema["description"]), schema.get("examples") or [None]
    return description[0].upper() + description[1:], examples[0]


def _is_table(field: msgspec.structs.FieldInfo) -> bool:
    return isinstance(_kind(field), msgspec.inspect.DictType)


def _is_list(field: msgspec.structs.FieldInfo) -> bool:
    return isinstance(_kind(field), msgspec.inspect.ListType)


def _kind(field: msgspec.structs.FieldInfo) -> msgspec.inspect.Type:
    info = msgspec.inspect.type_info(field.type)
    return info.type if isinstance(info, msgspec.inspect.Metadata) else info


def _key(name: str) -> str:
    return name if name.replace("_", "").isalnum() else json.dumps(name)


def _value(value: Any) -> str:
    """TOML writes these values as JSON does."""
    return json.dumps(value)
