"""Steering: what a user of the page may ask of a controller, as messages, and how it is done."""

from collections.abc import Mapping
from typing import Annotated

import msgspec

from rheostat.decision import Decision, Move, Scale, Transfer
from rheostat.errors import ConfigError, nearest
from rheostat.loop.controller import Controller
from rheostat.names import OperatorName, PoolName
from rheostat.plan import StaleDecisionError
from rheostat.sla import SLA, Budget

Name = Annotated[str, msgspec.Meta(min_length=1, max_length=200)]
Who = Annotated[str, msgspec.Meta(max_length=100)]
Executors = Annotated[int, msgspec.Meta(ge=1, le=100_000)]
Index = Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]


class Request(msgspec.Struct, frozen=True, kw_only=True, tag_field="do", forbid_unknown_fields=True):
    """Base of all requests: who asks."""

    by: Who = ""


class PauseRequest(Request, frozen=True, tag="pause"):
    """Carry out no decision of the policy."""


class ResumeRequest(Request, frozen=True, tag="resume"):
    """Carry out decisions again."""


class DryRunRequest(Request, frozen=True, kw_only=True, tag="dry-run"):
    """Show decisions without carrying them out, or end that."""

    on: bool


class GoalRequest(Request, frozen=True, kw_only=True, tag="goal"):
    """Other SLAs ("5s/30s") by their scope, which for the whole topology is empty; other bounds. The rest stays.

    A `total` of null is no limit of all executors together."""

    slas: dict[str, Annotated[str, msgspec.Meta(max_length=100)]] = {}
    total: Executors | msgspec.UnsetType | None = msgspec.UNSET
    least: dict[Name, Executors] | None = None
    most: dict[Name, Executors] | None = None


class ScaleRequest(Request, frozen=True, kw_only=True, tag="scale"):
    """So many executors for a pool."""

    pool: Name
    executors: Executors


class MoveRequest(Request, frozen=True, kw_only=True, tag="move"):
    """Substreams to another executor."""

    operator: Name
    substreams: Annotated[tuple[Index, ...], msgspec.Meta(min_length=1, max_length=10_000)]
    target: Index


AnyRequest = PauseRequest | ResumeRequest | DryRunRequest | GoalRequest | ScaleRequest | MoveRequest
"""For decoding: `do` says which."""


class Steering:
    """Does what is asked of `controller`. With `only_dry` its dry run cannot be ended: nothing there can be changed."""

    def __init__(self, controller: Controller, *, only_dry: bool = False) -> None:
        self._controller, self._only_dry = controller, only_dry

    @property
    def paused(self) -> bool:
        return self._controller.paused

    @property
    def dry_run(self) -> bool:
        return self._controller.dry_run

    def do(self, request: AnyRequest, host: str) -> None:
        """Raises a `RheostatError` if it cannot be done. `host` is added to the name of who asks."""
        controller, by = self._controller, f"{request.by.strip() or 'dashboard'} ({host})"
        match request:
            case PauseRequest():
                controller.pause(by)
            case ResumeRequest():
                controller.resume(by)
            case DryRunRequest():
                if self._only_dry and not request.on:
                    raise ConfigError("this application has one process only: its dry run cannot be ended")
                controller.set_dry_run(request.on, by)
            case GoalRequest():
                self._change_goal(request, by)
            case ScaleRequest():
                decision = Scale(pool=PoolName(request.pool), executors=request.executors, reason=f"asked for by {by}")
                controller.request(decision, by)
            case MoveRequest():
                controller.request(self._move(request, by), by)

    def _change_goal(self, request: GoalRequest, by: str) -> None:
        goal = self._controller.goal
        asked = dict(request.slas)
        slas = [sla.with_limits(asked.pop(sla.scope)) if sla.scope in asked else sla for sla in goal.slas]
        if "" in asked:
            slas.insert(0, SLA.parse(asked.pop("")))
        if asked:
            known = [sla.scope for sla in goal.slas]
            raise ConfigError(f"no SLA is for {next(iter(asked))!r}; {nearest(next(iter(asked)), known)}")
        budget = Budget(
            goal.budget.total if request.total is msgspec.UNSET else request.total,
            _or_else(request.least, goal.budget.least),
            _or_else(request.most, goal.budget.most),
        )
        self._controller.change_goal(slas=slas, budget=budget, by=by)

    def _move(self, request: MoveRequest, by: str) -> Decision:
        operator, plan = OperatorName(request.operator), self._controller.plan
        owners = plan.assignment.get(operator)
        if owners is None:
            raise StaleDecisionError(f"operator {operator!r} has no substreams")
        if request.target not in plan.pool(operator).executors:
            raise StaleDecisionError(f"executor {request.target} does not serve {operator!r}")
        sources: dict[int, list[int]] = {}
        for index in dict.fromkeys(request.substreams):
            if index >= len(owners):
                raise StaleDecisionError(f"operator {operator!r} has no substream {index}, only 0 to {len(owners) - 1}")
            sources.setdefault(owners[index], []).append(index)
        transfers = tuple(
            Transfer(tuple(indices), source, request.target)
            for source, indices in sources.items()
            if source != request.target
        )
        return Move(operator=operator, transfers=transfers, reason=f"asked for by {by}")


def _or_else(given: Mapping[str, int] | None, present: Mapping[str, int]) -> Mapping[str, int]:
    return present if given is None else given
