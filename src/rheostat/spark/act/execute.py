"""Execute: carries the reconciler's instructions out. While a plant runs, Spark is changed only from here."""

from collections.abc import Iterable
from typing import Protocol

from pyspark.sql import SparkSession

from rheostat.errors import PlantError, RheostatError
from rheostat.names import OperatorName
from rheostat.spark.act.actuators.allocation import AllocationClient
from rheostat.spark.act.actuators.locality_wait import LocalityWait
from rheostat.spark.act.actuators.query_fusion import QueryFusion
from rheostat.spark.act.actuators.resource_profiles import ResourceProfiles
from rheostat.spark.act.actuators.state_location import move_state
from rheostat.spark.act.actuators.task_counts import NotYetError, group_rows
from rheostat.spark.act.actuators.warm_up import WarmUps, WorkKind
from rheostat.spark.act.instructions import (
    CreateProfile,
    Decommission,
    GroupRows,
    Instruction,
    Kill,
    RearrangeQueries,
    RequestTotals,
    RouteTasks,
    WaitForLocality,
    WarmUp,
)
from rheostat.spark.query.runtime import Runtime
from rheostat.spark.state.stage_placement import StagePlacement, StageTarget
from rheostat.topology import Topology


class Actuators(Protocol):
    """Carries out the instructions that concern it, ignores others, and raises what went wrong."""

    def carry_out(self, instruction: Instruction, now_s: float) -> None: ...

    def close(self) -> None: ...


class Execution:
    """Carries out lists of instructions. Those that state how something shall be are carried out when they change."""

    def __init__(self, actuators: Iterable[Actuators]) -> None:
        self._actuators = tuple(actuators)
        self._done: dict[object, Instruction] = {}

    def run(self, instructions: Iterable[Instruction], now_s: float) -> tuple[str, ...]:
        """Carry all of them out; returns what was refused, in words. A refused one is tried again next time."""
        refused: list[str] = []
        for instruction in instructions:
            subject = _subject(instruction)
            if subject is not None and self._done.get(subject) == instruction:
                continue
            self._done.pop(subject, None)
            try:
                for actuators in self._actuators:
                    actuators.carry_out(instruction, now_s)
            except NotYetError:
                continue
            except RheostatError as error:
                refused.append(str(error))
                continue
            if subject is not None:
                self._done[subject] = instruction
        return tuple(refused)

    @property
    def groupings(self) -> dict[OperatorName, str]:
        """How rows are spread where that is not the usual way, by operator."""
        done = [each for each in self._done.values() if isinstance(each, GroupRows)]
        return {each.operator: each.grouping for each in done if each.grouping is not None}

    def close(self) -> None:
        for actuators in self._actuators:
            actuators.close()


class QueryActuators:
    """Changes the queries of a topology."""

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._fusion = QueryFusion(runtime)

    def carry_out(self, instruction: Instruction, now_s: float) -> None:
        match instruction:
            case GroupRows():
                group_rows(self._runtime, instruction.operator, instruction.grouping, instruction.tasks)
            case RearrangeQueries():
                self._fusion.request(instruction.groups, now_s)

    def close(self) -> None:
        self._fusion.close()


class FixedQueries:
    """The queries of an application that is attached to: they are never changed."""

    def carry_out(self, instruction: Instruction, now_s: float) -> None:
        match instruction:
            case GroupRows(operator=operator, grouping=str(grouping)):
                raise PlantError(
                    f"operator {operator!r} cannot be grouped by {grouping!r}: its queries are not changed"
                )
            case RearrangeQueries(groups=groups):
                fused = ", ".join("+".join(group) for group in groups)
                raise PlantError(f"{fused} cannot be fused: the queries of the application are not changed")

    def close(self) -> None:
        """Nothing is held open."""


class StateActuators:
    """Moves the state of substreams where work cannot be routed, by Spark's own memory of where it is."""

    def __init__(self, spark: SparkSession, runtime: Runtime) -> None:
        self._spark, self._runtime = spark, runtime

    def carry_out(self, instruction: Instruction, now_s: float) -> None:
        if isinstance(instruction, RouteTasks) and instruction.by_substream:
            queries = [each.query for each in self._runtime.queries.values() if instruction.operator in each.unit.parts]
            if not all(query and move_state(self._spark, query, instruction.by_substream) for query in queries):
                raise NotYetError(f"operator {instruction.operator!r} has no state to move yet")

    def close(self) -> None:
        """Nothing is held open."""


class StageActuators:
    """Decides on which executors the stages of operators run, and prepares executors for them."""

    def __init__(
        self, topology: Topology, placement: StagePlacement, profiles: ResourceProfiles, warm_ups: WarmUps
    ) -> None:
        self._topology, self._placement, self._profiles, self._warm_ups = topology, placement, profiles, warm_ups

    def carry_out(self, instruction: Instruction, now_s: float) -> None:
        match instruction:
            case CreateProfile():
                self._profiles.create(instruction.site)
            case RouteTasks():
                profile = self._profiles[instruction.site]
                target = StageTarget(profile, instruction.serving, instruction.by_substream)
                self._placement.route(instruction.operator, target)
            case WarmUp():
                kind = self._kind(instruction.operators)
                self._warm_ups.start(instruction.executors, self._profiles[instruction.site], kind)

    def close(self) -> None:
        self._warm_ups.close()

    def _kind(self, operators: frozenset[str]) -> WorkKind:
        stateful = any(self._topology.operators[operator].keyed for operator in operators)
        return WorkKind(stateful, python=not operators.isdisjoint(self._placement.python_operators))


class LocalityActuators:
    """Decides whether tasks wait for the executors that they prefer."""

    def __init__(self, spark: SparkSession) -> None:
        self._locality_wait = LocalityWait(spark)

    def carry_out(self, instruction: Instruction, now_s: float) -> None:
        if isinstance(instruction, WaitForLocality):
            self._locality_wait.set(instruction.wait)

    def close(self) -> None:
        self._locality_wait.set(True)


class AllocationActuators:
    """Requests and ends executors."""

    def __init__(self, allocation: AllocationClient) -> None:
        self._allocation = allocation

    def carry_out(self, instruction: Instruction, now_s: float) -> None:
        match instruction:
            case RequestTotals():
                self._allocation.request(instruction.totals)
            case Decommission():
                self._allocation.decommission(instruction.executor_ids)
            case Kill():
                self._allocation.kill(instruction.executor_ids)

    def close(self) -> None:
        """Nothing is held open."""


def _subject(instruction: Instruction) -> object:
    """What an instruction states something about; None for one that is carried out whenever it comes."""
    match instruction:
        case RouteTasks() | GroupRows():
            return type(instruction), instruction.operator
        case RequestTotals() | WaitForLocality():
            return type(instruction)
    return None
