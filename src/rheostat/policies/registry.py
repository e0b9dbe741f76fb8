"""Registry: policies by name, the built-in ones and those of other packages.

A package adds its own by an entry point; nothing else is needed for it to appear in `rheostat policies`:

    [project.entry-points."rheostat.policies"]
    mine = "my_package:MyPolicy"
"""

import warnings
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple

import msgspec

from rheostat.errors import ConfigError, RheostatError, nearest
from rheostat.measure.smoothing import parse_smoothing
from rheostat.policies.dabs.policy import Dabs
from rheostat.policies.drs.drs_lb import DrsLb
from rheostat.policies.drs.policy import Drs
from rheostat.policies.ds2 import Ds2
from rheostat.policies.flink.policy import Flink
from rheostat.policies.lag import Lag
from rheostat.policies.pasps.policy import PaSps, Psps
from rheostat.policies.policy import Policy, PolicyOptions, check_made
from rheostat.policies.qlearning.policy import QLearning
from rheostat.policies.rastream.policy import RaStream
from rheostat.policies.rheostat.policy import Rheostat
from rheostat.policies.spark_dra import SparkDra
from rheostat.policies.static import Static
from rheostat.policies.streamswitch.policy import StreamSwitch
from rheostat.policies.threshold import Threshold
from rheostat.sla import Goal

GROUP = "rheostat.policies"

DEFAULT_POLICY = Rheostat.name
"""The policy of `rheostat run`, `start`, `attach` and of scenarios that name none: it aims at the SLA."""

_BUILT_IN: tuple[type[Policy], ...] = (
    Static,
    Threshold,
    SparkDra,
    Lag,
    Ds2,
    Flink,
    Drs,
    DrsLb,
    StreamSwitch,
    PaSps,
    Psps,
    Dabs,
    QLearning,
    RaStream,
    Rheostat,
)


class PolicyWarning(UserWarning):
    """A policy of another package that cannot be used."""


class OptionRow(NamedTuple):
    """One option of a policy, for a help text."""

    name: str
    default: Any
    description: str
    required: bool = False


def policies() -> dict[str, type[Policy]]:
    """All policies by name. One that cannot be loaded is left out with a warning that names it."""
    found = {policy.name: policy for policy in _BUILT_IN}
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        if point.name in found:
            _warn(point, f"there is a policy {point.name!r} already")
        elif (policy := _load(point)) is not None:
            found[point.name] = policy
    return found


def policy_class(name: str) -> type[Policy]:
    """The policy called `name`, or an error that suggests the one meant."""
    known = policies()
    if name not in known:
        raise ConfigError(f"no policy is called {name!r}; {nearest(name, known)}")
    return known[name]


def make_policy(policy: str | type[Policy], goal: Goal, options: Mapping[str, Any] | None = None) -> Policy:
    """A policy by its name, or one of your own by its class, ready to decide. Options may be text, as from a command
    line."""
    chosen = policy_class(policy) if isinstance(policy, str) else policy
    if (why := _why_not_a_policy(chosen)) is not None:
        raise ConfigError(f"policy {chosen!r} cannot be used: {why}")
    made = chosen(goal, make_options(chosen, options or {}))
    check_made(made)
    return made


def make_options(policy: type[Policy], options: Mapping[str, Any]) -> PolicyOptions:
    """The policy's options from plain values; an error names the option, the value and what would be right."""
    fields = {field.name: field for field in msgspec.structs.fields(policy.Options)}
    for option in options:
        if option not in fields:
            raise ConfigError(f"policy {policy.name!r} has no option {option!r}; {nearest(option, fields)}")
    for option, field in fields.items():
        if field.required and option not in options:
            raise ConfigError(f"policy {policy.name!r} needs the option {option!r}: {_meaning(field)}")
    values = {option: _convert(policy.name, fields[option], value) for option, value in options.items()}
    try:
        made = policy.Options(**values)
        parse_smoothing(made.smoothing)
    except (ValueError, RheostatError) as error:
        raise ConfigError(f"policy {policy.name!r}: {error}") from None
    return made


def options_of(policy: type[Policy]) -> list[OptionRow]:
    """The options of `policy` in the order of their declaration, its own before those that all policies have."""
    common = {field.name for field in msgspec.structs.fields(PolicyOptions)}
    rows = [
        OptionRow(field.name, None if field.required else _default(field), _description(field), field.required)
        for field in msgspec.structs.fields(policy.Options)
    ]
    return sorted(rows, key=lambda row: row.name in common)


def _load(point: EntryPoint) -> type[Policy] | None:
    """The policy behind an entry point. An error there must not affect the other policies."""
    try:
        policy = point.load()
    except Exception as error:
        _warn(point, f"{type(error).__name__}: {error}")
        return None
    if (why := _why_not_a_policy(policy)) is not None:
        _warn(point, why)
        return None
    if policy.name != point.name:
        _warn(point, f"it calls itself {policy.name!r}: both names must be the same")
        return None
    return policy  # type: ignore[no-any-return]


def _why_not_a_policy(policy: Any) -> str | None:
    """What is wrong with a class that should be a policy, or None."""
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        return "it is not derived from rheostat.Policy"
    if lacking := sorted(policy.__abstractmethods__):
        return f"it does not define {', '.join(lacking)}"
    return None


def _warn(point: EntryPoint, why: str) -> None:
    warnings.warn(f"policy {point.name!r} ({point.value}) is left out: {why}", PolicyWarning, stacklevel=3)


def _convert(policy: str, field: msgspec.structs.FieldInfo, value: Any) -> Any:
    try:
        return msgspec.convert(value, field.type, strict=False)
    except msgspec.ValidationError as error:
        wanted = _choices(field) or str(error).replace("`", "")
        raise ConfigError(
            f"policy {policy!r}: option {field.name!r} cannot be {value!r}: {wanted} ({_meaning(field)})"
        ) from None


def _choices(field: msgspec.structs.FieldInfo) -> str | None:
    """The values of an option that has a few values only."""
    info = msgspec.inspect.type_info(field.type)
    kind = info.type if isinstance(info, msgspec.inspect.Metadata) else info
    return f"choose {', '.join(map(str, kind.values))}" if isinstance(kind, msgspec.inspect.LiteralType) else None


def _default(field: msgspec.structs.FieldInfo) -> Any:
    return field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()


def _meaning(field: msgspec.structs.FieldInfo) -> str:
    """The first sentence of the description."""
    return _description(field).partition(". ")[0].rstrip(".")


def _description(field: msgspec.structs.FieldInfo) -> str:
    info = msgspec.inspect.type_info(field.type)
    extra = info.extra_json_schema if isinstance(info, msgspec.inspect.Metadata) else None
    return str((extra or {}).get("description", ""))
