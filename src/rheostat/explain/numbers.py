"""Numbers: what was measured in a turn, of the whole pipeline and of each operator."""

from collections.abc import Collection

import msgspec

from rheostat.journal.records import RecordedObservation
from rheostat.measure.measures import Measures
from rheostat.names import OperatorName, PoolName
from rheostat.sla import Goal


class OperatorNumbers(msgspec.Struct, frozen=True):
    """One operator as the policy saw it: rates per second, `executors` that serve, and how many the plan wants.

    `service_rate` is that of one executor, `oldest_s` the age of the oldest record in the backlog.
    """

    pool: PoolName
    executors: int
    planned: int
    arrival_rate: float | None
    completion_rate: float | None
    service_rate: float | None
    utilisation: float | None
    queued: float | None
    oldest_s: float | None
    latency_s: float | None
    sla_s: float | None


class Numbers(msgspec.Struct, frozen=True):
    """The numbers of one turn: rate at the sources and latency of the whole pipeline, and those of each operator."""

    external_rate: float | None
    latency_s: float | None
    sla_s: float | None
    operators: dict[OperatorName, OperatorNumbers]

    def of(self, operators: Collection[str]) -> "Numbers":
        """Without the other operators."""
        kept = {name: numbers for name, numbers in self.operators.items() if name in operators}
        return msgspec.structs.replace(self, operators=kept)


def numbers_of(goal: Goal, recorded: RecordedObservation, measures: Measures) -> Numbers:
    """The numbers of a recorded turn, from what was measured in it."""
    end_to_end = goal.end_to_end
    return Numbers(
        measures.external_rate,
        measures.latency_s,
        None if end_to_end is None else end_to_end.latency_s,
        {name: operator_numbers(goal, recorded, measures, name) for name in measures.operators},
    )


def operator_numbers(
    goal: Goal, recorded: RecordedObservation, measures: Measures, name: OperatorName
) -> OperatorNumbers:
    pool, measured, sla = recorded.plan.pool_of[name], measures.operators[name], goal.sla_of(name)
    state = recorded.snapshot.operators.get(name)
    return OperatorNumbers(
        pool=pool,
        executors=sum(1 for _ in recorded.snapshot.active(pool)),
        planned=recorded.plan.pools[pool].size,
        arrival_rate=measured.arrival_rate,
        completion_rate=measured.completion_rate,
        service_rate=measured.service_rate,
        utilisation=measured.utilisation,
        queued=measured.queued,
        oldest_s=None if state is None else state.oldest_s,
        latency_s=measured.latency_s,
        sla_s=None if sla is None else sla.latency_s,
    )
