"""Policy: the base class of all policies, and of their options."""

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Generic, cast, get_args, get_origin

import msgspec

from rheostat.decision import Decision
from rheostat.errors import ConfigError
from rheostat.policies.observation import Observation
from rheostat.sla import Goal

Smoothing = Annotated[
    str,
    msgspec.Meta(
        description='How measured rates and latencies are smoothed from turn to turn: "none", "window:6" (mean '
        'of the last 6 turns) or "alpha:0.8" (80 % of the smoothed value so far and 20 % of the new one). Smooth '
        "more if the number of executors goes up and down without need, less if it follows the load too late."
    ),
]
"""An option of every policy."""


class PolicyOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Base of every policy's options: declared once, with default, bounds and a description for the help text."""

    smoothing: Smoothing = "none"


if TYPE_CHECKING:
    from typing_extensions import TypeVar

    Options_co = TypeVar("Options_co", bound=PolicyOptions, covariant=True, default=PolicyOptions)
else:
    from typing import TypeVar

    Options_co = TypeVar("Options_co", bound=PolicyOptions, covariant=True)


class Policy(ABC, Generic[Options_co]):
    """Base of all policies: `class Mine(Policy[MyOptions])`, or `class Mine(Policy)` without options of its own.

    A subclass writes `decide`. It may keep what it was shown and nothing else: it reads no clock, does no I/O and draws
    no randomness, so that equal observations give equal decisions.

    `name` is the class's name in lower case with dashes and `summary` the first line of its docstring, unless it
    declares them. `options` are those it was made with: the loop smooths as they say, the journal keeps them for a
    replay.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    Options: ClassVar[type[PolicyOptions]] = PolicyOptions

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        declared = vars(cls)
        if "name" not in declared:
            cls.name = re.sub(r"(?<=.)(?=[A-Z][a-z])", "-", cls.__name__).lower()
        if "summary" not in declared:
            cls.summary = (cls.__doc__ or "").strip().partition("\n")[0]
        if "Options" not in declared and (options := _options_argument(cls)) is not None:
            cls.Options = options

    def __init__(self, goal: Goal, options: Options_co | None = None) -> None:
        self.goal = goal
        self.options: Options_co = cast(Any, self.Options)() if options is None else options

    @abstractmethod
    def decide(self, observation: Observation) -> Sequence[Decision]:
        """At most one decision for each pool and operator. A pool that none is about holds."""


def check_made(policy: Policy) -> None:
    """Refuse a policy that lacks what the loop needs of it, e.g. because its `__init__` does not call the base's."""
    kind = type(policy).__name__
    if not isinstance(getattr(policy, "options", None), PolicyOptions):
        raise ConfigError(
            f"policy class {kind} has no `options` (PolicyOptions): derive it from rheostat.Policy, and call "
            "super().__init__(goal, options) if it has an __init__ of its own"
        )
    if not isinstance(getattr(policy, "goal", None), Goal):
        raise ConfigError(f"policy class {kind} has no `goal`: its __init__ must call super().__init__(goal, options)")


def _options_argument(policy: type[Policy]) -> type[PolicyOptions] | None:
    """The class in the brackets of `Policy[...]`, if `policy` is derived from that."""
    for base in getattr(policy, "__orig_bases__", ()):
        origin = get_origin(base)
        if isinstance(origin, type) and issubclass(origin, Policy):
            (argument,) = get_args(base)
            return argument if isinstance(argument, type) else None
    return None
