"""Controller: the control loop, one for all plants and policies. Observe, measure, decide, guard, record, apply.

A plan is in the journal before it is applied, and it is applied again in every turn until it is what runs. No error of
a plant, a policy or a journal ends the loop: it holds, reports the problem once, and tries again.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import msgspec

from rheostat.capabilities import Capabilities
from rheostat.decision import Decision, Scale
from rheostat.describe import describe, executors, goal_text
from rheostat.duration import Duration, human, seconds
from rheostat.errors import ConfigError
from rheostat.journal import Journal, NullJournal
from rheostat.journal.goal_record import GoalRecord
from rheostat.journal.records import Command, RecordedObservation, Resumed, RunRecord
from rheostat.loop.actions import Action, ActionTracker
from rheostat.loop.guards import Context, arbitrate
from rheostat.loop.observer import MeasuredSnapshot, PlantObserver
from rheostat.loop.options import LoopOptions
from rheostat.loop.problems import ProblemLog
from rheostat.loop.recovery import recover_state, show_again
from rheostat.loop.settling import SettlingPools
from rheostat.loop.turn import Outcome, Ruling, Turn, Verdict
from rheostat.measure.measurer import Measurer
from rheostat.measure.sla_standing import SlaStandings
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.plant import Plant
from rheostat.policies.expectation import Expecting
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy, check_made
from rheostat.sla import SLA, Budget, Goal

_LOG = logging.getLogger("rheostat")

Listener = Callable[[Turn], None]
"""Called with every turn after it was recorded, in the loop's own thread: it should be quick."""


class Controller:
    """Keeps `plant` at `goal` by the decisions of `policy`.

    A journal of the same topology is resumed: its last plan is in force again, the policy is shown the last
    observations, and the cooldown counts from the last action. Otherwise the loop starts with `plan`, or with the
    fewest executors that the budget allows. The journal is left open.

    `present` is for a plant that ran before the loop did: what runs there, as a plan. Until the first action, in a dry
    run always, the plan follows it and is not applied. Only where it has more executors than the budget allows, the
    plan has as many as are allowed, and is applied.
    """

    def __init__(
        self,
        plant: Plant,
        policy: Policy,
        goal: Goal,
        journal: Journal | NullJournal | None = None,
        options: LoopOptions | None = None,
        *,
        plan: Plan | None = None,
        present: Callable[[], Plan] | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        _check_same_topology(plant, goal, plan)
        check_made(policy)
        self.goal = goal
        self.options = options or LoopOptions()
        self._plant, self._policy, self._listeners = plant, policy, tuple(listeners)
        self._journal = journal or NullJournal()
        self._problems = ProblemLog()
        self._outcomes: list[Outcome] = []
        self._paused, self._stopped = threading.Event(), threading.Event()
        self._dry_run = self.options.dry_run
        self._requested: deque[Decision] = deque()
        self._standings = SlaStandings(goal.slas)
        self._due_s: float | None = None
        self._turning = threading.RLock()
        self._shown: deque[Observation] = deque(maxlen=self.options.history)
        resumed = self._journal.resume(goal.topology)
        follows = self._dry_run or resumed is None or not resumed.decided
        self._present = present if follows else None
        self._begin(resumed, plan or _least(goal))
        self._follow_present(plant.clock.now())

    @property
    def plan(self) -> Plan:
        """The plan in force."""
        return self._plan

    @property
    def paused(self) -> bool:
        return self._paused.is_set()

    @property
    def dry_run(self) -> bool:
        return self._dry_run

    def pause(self, by: str = "") -> None:
        """Refuse all decisions of the policy until `resume`. The plan in force is still applied.

        The journal records this and every other intervention, with who it was `by`, if that is given.
        """
        self._paused.set()
        self._record_command("pause", "", by)

    def resume(self, by: str = "") -> None:
        """Accept decisions again."""
        self._paused.clear()
        self._record_command("resume", "", by)

    def set_dry_run(self, dry_run: bool, by: str = "") -> None:
        """From the next turn on, only show decisions, or carry them out again."""
        with self._turning:
            self._dry_run = dry_run
        self._record_command("dry run" if dry_run else "end of dry run", "", by)

    def request(self, decision: Decision, by: str) -> None:
        """Have the next turn judge `decision` as one of its own, before those of the policy."""
        if not by:
            raise ConfigError("a requested decision needs the name of who asked for it")
        self._plan.pools_of(decision)
        self._requested.append(msgspec.structs.replace(decision, by=by))
        self._record_command("request", f"{decision.subject}: {describe(decision)}", by)

    def change_budget(self, budget: Budget) -> None:
        """Use another budget from the next turn on, as `change_goal` does."""
        self.change_goal(budget=budget)

    def change_goal(self, *, slas: Sequence[SLA] | None = None, budget: Budget | None = None, by: str = "") -> None:
        """Use other SLAs or another budget from the next turn on, from any thread; what is left out stays.

        The policy is made anew for the new goal and is shown the last observations. If the plan has more executors
        than the budget allows, the pools scale in: first to their own bounds, then the largest. In the journal a new
        run begins, with the new goal. A goal that cannot be is refused, and nothing changes.
        """
        with self._turning:
            goal = replace(
                self.goal,
                slas=self.goal.slas if slas is None else tuple(slas),
                budget=self.goal.budget if budget is None else budget,
            )
            policy = type(self._policy)(goal, self._policy.options)
            check_made(policy)
            show_again(policy, self._shown)
            now_s = self._plant.clock.now()
            plan = _within_total(_within_bounds(self.plan, goal), goal)
            if plan != self.plan:
                self._journal.adopt(now_s, plan)
            self.goal, self._plan, self._policy = goal, plan, policy
            self._standings = SlaStandings(goal.slas)
            self._journal.begin(self._run_record(now_s, len(self._shown)), plan)
        self._record_command("goal", goal_text(goal), by)

    def stop(self) -> None:
        """End `run` after the present turn, from any thread. A stopped controller does not run again."""
        self._stopped.set()
        self._plant.clock.interrupt()

    def run(self, *, for_: Duration | None = None, until_s: float | None = None) -> None:
        """Do a turn every period: for a time, until a moment of the plant's clock, or until `stop`.

        Turns that are missed because one took too long are skipped.
        """
        start_s = self._plant.clock.now()
        end_s = until_s if for_ is None else start_s + seconds(for_, "for_")
        due_s = start_s
        while not self._stopped.is_set() and (end_s is None or due_s <= end_s + 1e-9):
            self._due_s = due_s
            self._turn_safely()
            turns = int((self._plant.clock.now() - start_s) / self.options.period_s + 1e-9) + 1
            due_s = start_s + turns * self.options.period_s
            self._wait_until(due_s if end_s is None else min(due_s, end_s))

    def turn(self) -> Turn:
        """Do one turn, and return it."""
        with self._turning:
            return self._turn()

    def _turn(self) -> Turn:
        time_s, began_s = self._plant.clock.now(), time.perf_counter()
        lag_s = 0.0 if self._due_s is None else max(0.0, time_s - self._due_s)
        self._follow_present(time_s)
        measured = self._observer.observe(self._plan)
        unreached = frozenset() if self._dry_run else self._observer.unreached(self._plan)
        if measured is None:
            turn = self._new_turn(time_s, unreached)
        else:
            # A pool that gets no more from the cluster has nothing to wait for.
            turn = self._decide(time_s, measured, unreached - measured.capabilities.short)
        turn = self._record(turn)
        if turn.ruled(Ruling.ACCEPTED) or (unreached and self._present is None):
            self._apply(time_s)
        else:
            self._problems.clear("apply")
        turn = msgspec.structs.replace(turn, lag_s=lag_s, took_s=time.perf_counter() - began_s)
        self._notify(turn)
        return turn

    def _turn_safely(self) -> None:
        """A turn whose errors are reported instead of raised."""
        try:
            self.turn()
            self._problems.clear("loop")
        except Exception as error:
            self._problems.failed("loop", error)

    def _wait_until(self, time_s: float) -> None:
        while not self._stopped.is_set() and self._plant.clock.now() < time_s:
            self._plant.clock.wait_until(time_s)

    def _begin(self, resumed: Resumed | None, plan: Plan) -> None:
        """Resume what the journal has, or start with `plan`."""
        now_s = self._plant.clock.now()
        recorded = [] if resumed is None else self._recorded(now_s)
        measurer = Measurer(self.goal.topology, self._policy.options.smoothing)
        recover_state(self._policy, measurer, recorded)
        last = recorded[-1].snapshot if recorded else None
        self._observer = PlantObserver(self._plant, measurer, self._problems, last)
        self._plan = plan if resumed is None else resumed.plan
        last_action_s = None if resumed is None else resumed.last_action_s
        self._last_action_s = None if last_action_s is None else min(last_action_s, now_s)
        pending = () if resumed is None else resumed.pending
        actions = [Action(each.revision, each.pool, min(each.accepted_s, now_s)) for each in pending]
        self._actions = ActionTracker(self.options.effect_window_s, self.options.action_timeout_s, actions)
        self._settling = SettlingPools(self.options.action_timeout_s, self.options.start_timeout_s)
        self._journal.begin(self._run_record(now_s, len(recorded)), self._plan)

    def _follow_present(self, time_s: float) -> None:
        """Bring the plan up to date with what runs, as long as nothing was decided."""
        if self._present is None:
            return
        try:
            present = self._present()
            plan = present if self._dry_run else _within_bounds(present, self.goal)
            plan = msgspec.structs.replace(plan, revision=self._plan.revision)
            if plan != self._plan:
                plan = msgspec.structs.replace(plan, revision=self._plan.revision + 1)
                self._journal.adopt(time_s, plan)
                self._plan = plan
        except Exception as error:
            self._problems.failed("present", error)
            return
        self._problems.clear("present")
        if plan.total < present.total:
            allowed = f"{plan.total} at most allowed"
            _LOG.info("%s, %s: reduced to %d", executors(present.total), allowed, plan.total)
            self._present = None

    def _recorded(self, now_s: float) -> list[RecordedObservation]:
        """The last recorded observations; none if they are later than the clock, which was set back then."""
        recorded = self._journal.last_recorded(self.options.history)
        if recorded and recorded[-1].snapshot.time_s > now_s:
            ahead = human(recorded[-1].snapshot.time_s - now_s)
            self._problems.set("history", f"the journal's last snapshot is {ahead} ahead of the clock: it is not used")
            return []
        oldest_s = now_s - self.options.history * self.options.period_s
        return [each for each in recorded if each.snapshot.time_s >= oldest_s]

    def _run_record(self, now_s: float, history: int) -> RunRecord:
        return RunRecord(
            now_s,
            self.goal.topology.fingerprint(),
            GoalRecord.of(self.goal),
            self._policy.name,
            msgspec.to_builtins(self._policy.options),
            history,
        )

    def _decide(self, time_s: float, measured: MeasuredSnapshot, settling: frozenset[PoolName]) -> Turn:
        """Ask the policy, and let the guards judge its decisions."""
        blocked = self._settling.blocked(settling, self._plan, measured.snapshot, time_s)
        observation = Observation(
            measured.snapshot, measured.measures, self._plan, blocked, self.goal.budget, measured.capabilities
        )
        context = Context(
            goal=self.goal,
            options=self.options,
            time_s=time_s,
            snapshot=measured.snapshot,
            measured=measured.unsmoothed,
            plan=self._plan,
            capabilities=measured.capabilities,
            settling=blocked,
            last_action_s=self._last_action_s,
            paused=self.paused,
            dry_run=self._dry_run,
        )
        self._shown.append(observation)
        verdicts, plan = arbitrate([*self._requests(), *self._ask(observation)], context, measured.substream_loads)
        self._outcomes += self._actions.observe(measured.snapshot, measured.unsmoothed, settling, self._plan)
        return self._new_turn(
            time_s,
            blocked,
            plan=plan,
            verdicts=verdicts,
            snapshot=measured.snapshot,
            measures=measured.measures,
            capabilities=measured.capabilities,
            standings=self._standings.update(measured.snapshot),
            executors_left=self._executors_left(plan, measured.capabilities),
            expected=self._policy.expectation if isinstance(self._policy, Expecting) else None,
        )

    def _executors_left(self, plan: Plan, capabilities: Capabilities) -> int | None:
        """How many more executors the budget and the cluster allow under `plan`; None if neither has a limit."""
        total, room = self.goal.budget.total, capabilities.room
        left = [] if total is None else [total - capabilities.reserved - plan.total]
        left += [] if room is None else [room - plan.total_with_standbys]
        return max(0, min(left)) if left else None

    def _requests(self) -> list[Decision]:
        """What was asked for since the last turn."""
        return [self._requested.popleft() for _ in range(len(self._requested))]

    def _ask(self, observation: Observation) -> Sequence[Decision]:
        try:
            decisions = list(self._policy.decide(observation))
            for decision in decisions:
                if not isinstance(decision, Decision):
                    raise TypeError(f"policy {self._policy.name!r} decided {decision!r}, which is not a Decision")
        except Exception as error:
            self._problems.failed("policy", error)
            return ()
        self._problems.clear("policy")
        return decisions

    def _new_turn(self, time_s: float, settling: frozenset[PoolName], **fields: Any) -> Turn:
        return Turn(
            time_s=time_s,
            before=self._plan,
            settling=settling,
            outcomes=tuple(self._outcomes),
            problems=self._problems.present(),
            problem_changes=self._problems.changes(),
            paused=self.paused,
            dry_run=self._dry_run,
            **{"plan": self._plan, **fields},
        )

    def _record(self, turn: Turn) -> Turn:
        """Write `turn` into the journal, and put its plan into force. Without a record there is no new plan."""
        try:
            self._journal.write(turn)
        except Exception as error:
            self._problems.failed("journal", error)
            return _undone(turn)
        self._problems.recorded(turn.problem_changes)
        self._problems.clear("journal")
        self._outcomes = self._outcomes[len(turn.outcomes) :]
        if accepted := turn.ruled(Ruling.ACCEPTED):
            changed = _changed_pools(accepted, turn.plan)
            self._outcomes += self._actions.begin(changed, turn.time_s)
            self._settling.begin((pool for _, pool in changed), turn.time_s)
            self._plan, self._last_action_s, self._present = turn.plan, turn.time_s, None
        return turn

    def _apply(self, time_s: float) -> None:
        """Apply the plan. Problems with it are recorded at once."""
        try:
            self._problems.set("apply", "; ".join(self._plant.apply(self._plan)))
        except Exception as error:
            self._problems.failed("apply", error)
        if not (changes := self._problems.changes()):
            return
        try:
            self._journal.note(time_s, changes)
            self._problems.recorded(changes)
        except Exception as error:  # they are recorded with the next turn
            self._problems.failed("journal", error)

    def _record_command(self, kind: str, what: str, by: str) -> None:
        """An intervention works even if it cannot be recorded."""
        try:
            self._journal.command(Command(self._plant.clock.now(), kind, what, by))
        except Exception as error:
            self._problems.failed("journal", error)

    def _notify(self, turn: Turn) -> None:
        for listener in self._listeners:
            try:
                listener(turn)
            except Exception as error:
                self._problems.failed("listener", error)


def _changed_pools(accepted: Iterable[Verdict], plan: Plan) -> list[tuple[int, PoolName]]:
    """The revision and the pool of each accepted decision: of operators that are fused or split, the last one's."""
    return [(v.revision, plan.pools_of(v.decision)[-1]) for v in accepted if v.revision is not None]


def _least(goal: Goal) -> Plan:
    return Plan.initial(goal.topology, {name: goal.budget.minimum(name) for name in goal.topology.operators})


def _within_bounds(plan: Plan, goal: Goal) -> Plan:
    """`plan` with no more executors in any pool than the budget allows."""
    for name, pool in plan.pools.items():
        most = goal.budget.bounds(plan.sharing(name)).most
        if pool.size > most:
            plan = plan.after(Scale(pool=name, executors=most, reason="the budget allows no more"))
    return plan


def _within_total(plan: Plan, goal: Goal) -> Plan:
    """`plan` with no more executors in all than the budget allows: the largest pools give them up, one by one."""
    sizes = {name: pool.size for name, pool in plan.pools.items()}
    least = {name: goal.budget.bounds(plan.sharing(name)).least for name in plan.pools}
    while goal.budget.total is not None and sum(sizes.values()) > goal.budget.total:
        largest = max(sizes, key=lambda name: sizes[name] - least[name])
        sizes[largest] -= 1
    for name, size in sizes.items():
        if size < plan.pools[name].size:
            plan = plan.after(Scale(pool=name, executors=size, reason="the budget allows no more"))
    return plan


def _undone(turn: Turn) -> Turn:
    """The same turn, when it could not be recorded."""
    verdicts = [
        Verdict(v.decision, Ruling.REFUSED, "the journal could not be written") if v.ruling is Ruling.ACCEPTED else v
        for v in turn.verdicts
    ]
    return msgspec.structs.replace(turn, plan=turn.before, verdicts=tuple(verdicts))


def _check_same_topology(plant: Plant, goal: Goal, plan: Plan | None) -> None:
    if plant.topology.fingerprint() != goal.topology.fingerprint():
        raise ConfigError(f"the plant runs topology {plant.topology.name!r}, the goal is for {goal.topology.name!r}")
    if plan is not None and plan.pool_of.keys() != goal.topology.operators.keys():
        raise ConfigError(
            f"the plan is for operators {', '.join(plan.pool_of)}; topology {goal.topology.name!r} "
            f"has {', '.join(goal.topology.operators)}"
        )
