"""The control loop: observe, smooth, decide, guard, write down, act. One for all plants and policies.

What is wanted is written into the journal before the plant is told, and the plant is told again in every period
until what runs is what is wanted. Nothing that goes wrong in a plant, a policy or a journal ends the loop: it
holds, says so once, and tries again.
"""

import threading
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from rheostat.decision import Decision
from rheostat.duration import Duration, human, seconds
from rheostat.errors import ConfigError
from rheostat.journal import Journal, NullJournal
from rheostat.journal.goal_record import GoalRecord
from rheostat.journal.records import Recorded, Resumed, Run
from rheostat.loop.guards import Context, arbitrate
from rheostat.loop.memory import remember
from rheostat.loop.options import LoopOptions
from rheostat.loop.problems import ProblemLog
from rheostat.loop.treatments import Treatment, Treatments
from rheostat.loop.turn import Outcome, Ruling, Turn, Verdict
from rheostat.loop.watch import Sight, Watch
from rheostat.measure.rates import Measurer
from rheostat.names import PoolName
from rheostat.plan import Plan
from rheostat.plant import Plant
from rheostat.policies.observation import Observation
from rheostat.policies.policy import Policy
from rheostat.sla import Goal

Listener = Callable[[Turn], None]
"""Told of every turn after it was written down, in the loop's own thread: it should be quick."""


class Controller:
    """Keeps `plant` at `goal` as `policy` thinks best.

    A journal that has seen this topology before is resumed: its last plan is wanted again, the policy is shown the
    last observations, and T_ra counts from the last act. Otherwise `plan` is where it starts, or the least
    executors that the budget allows. Whoever opened the journal closes it.
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
        listeners: Sequence[Listener] = (),
    ) -> None:
        _check_same_topology(plant, goal, plan)
        self.goal = goal
        self.options = options or LoopOptions()
        self._plant, self._policy, self._listeners = plant, policy, tuple(listeners)
        self._journal = journal or NullJournal()
        self._problems = ProblemLog()
        self._outcomes: list[Outcome] = []
        self._paused, self._stopped = threading.Event(), threading.Event()
        self._begin(self._journal.resume(goal.topology), plan or _least(goal))

    @property
    def plan(self) -> Plan:
        """What is wanted now."""
        return self._plan

    @property
    def paused(self) -> bool:
        return self._paused.is_set()

    def pause(self) -> None:
        """Refuse all further decisions. What is already wanted is still made real."""
        self._paused.set()

    def resume(self) -> None:
        """Let decisions through again."""
        self._paused.clear()

    def stop(self) -> None:
        """End `run`, from any thread, after the turn under way. A stopped controller does not run again."""
        self._stopped.set()
        self._plant.clock.interrupt()

    def run(self, *, for_: Duration | None = None, until_s: float | None = None) -> None:
        """Turn every period, for a time, until a moment of the plant's clock, or until `stop`.

        Turns that are missed because one took too long are left out, not made up for.
        """
        start_s = self._plant.clock.now()
        end_s = until_s if for_ is None else start_s + seconds(for_, "for_")
        due_s = start_s
        while not self._stopped.is_set() and (end_s is None or due_s <= end_s + 1e-9):
            self._turn()
            turns = int((self._plant.clock.now() - start_s) / self.options.period_s + 1e-9) + 1
            due_s = start_s + turns * self.options.period_s
            self._wait_until(due_s if end_s is None else min(due_s, end_s))

    def step(self) -> Turn:
        """One turn: what was seen, decided and wanted in it."""
        time_s = self._plant.clock.now()
        sight = self._watch.look(self._plan)
        settling = frozenset() if self.options.dry_run else self._watch.settling(self._plan)
        period = self._period(time_s, settling) if sight is None else self._decide(time_s, sight, settling)
        period = self._write(period)
        if settling or period.ruled(Ruling.ACCEPTED):
            self._apply(time_s)
        else:
            self._problems.clear("apply")
        self._tell(period)
        return period

    def _turn(self) -> None:
        """A step from which only the end of the program escapes."""
        try:
            self.step()
            self._problems.clear("loop")
        except Exception as error:
            self._problems.failed("loop", error)

    def _wait_until(self, time_s: float) -> None:
        while not self._stopped.is_set() and self._plant.clock.now() < time_s:
            self._plant.clock.wait_until(time_s)

    def _begin(self, resumed: Resumed | None, plan: Plan) -> None:
        """Go on from where the journal stops, or start with `plan`."""
        now_s = self._plant.clock.now()
        recorded = [] if resumed is None else self._memories(now_s)
        measurer = Measurer(self.goal.topology, self._policy.options.smoothing)
        remember(self._policy, measurer, recorded)
        self._watch = Watch(self._plant, measurer, self._problems, recorded[-1].snapshot if recorded else None)
        self._plan = plan if resumed is None else resumed.plan
        last_act_s = None if resumed is None else resumed.last_act_s
        self._last_act_s = None if last_act_s is None else min(last_act_s, now_s)
        under_way = () if resumed is None else resumed.under_way
        treatments = [Treatment(each.revision, each.pool, min(each.time_s, now_s)) for each in under_way]
        self._treatments = Treatments(self.options.settle_s, self.options.patience_s, treatments)
        self._journal.begin(self._run_record(now_s, len(recorded)), self._plan)

    def _memories(self, now_s: float) -> list[Recorded]:
        """The last recorded observations, none if the clock has gone back since: they would lie in the future."""
        recorded = self._journal.last_recorded(self.options.memory)
        if recorded and recorded[-1].snapshot.time_s > now_s:
            ahead = human(recorded[-1].snapshot.time_s - now_s)
            self._problems.set("memory", f"the journal's last snapshot is {ahead} ahead of the clock: starts without")
            return []
        oldest_s = now_s - self.options.memory * self.options.period_s
        return [each for each in recorded if each.snapshot.time_s >= oldest_s]

    def _run_record(self, now_s: float, remembered: int) -> Run:
        return Run(
            now_s,
            self.goal.topology.fingerprint(),
            GoalRecord.of(self.goal),
            self._policy.name,
            msgspec.to_builtins(self._policy.options),
            remembered,
        )

    def _decide(self, time_s: float, sight: Sight, settling: frozenset[PoolName]) -> Turn:
        """What is wanted from now on, in view of `sight`."""
        blocked = self._treatments.blocking(settling, time_s)
        decisions = self._ask(
            Observation(sight.snapshot, sight.measures, self._plan, blocked, self.goal.budget, sight.capabilities)
        )
        context = Context(
            goal=self.goal,
            options=self.options,
            time_s=time_s,
            snapshot=sight.snapshot,
            measured=sight.raw,
            plan=self._plan,
            capabilities=sight.capabilities,
            settling=blocked,
            last_act_s=self._last_act_s,
            paused=self.paused,
        )
        verdicts, plan = arbitrate(decisions, context, sight.substream_loads)
        self._outcomes += self._treatments.observe(sight.snapshot, sight.raw, settling, self._plan)
        seen = {"snapshot": sight.snapshot, "measures": sight.measures, "capabilities": sight.capabilities}
        return self._period(time_s, blocked, plan=plan, verdicts=verdicts, **seen)

    def _ask(self, observation: Observation) -> Sequence[Decision]:
        try:
            decisions = list(self._policy.decide(observation))
            for decision in decisions:
                if not isinstance(decision, Decision):
                    raise TypeError(f"policy {self._policy.name!r} decided {decision!r}, which is no Decision")
        except Exception as error:
            self._problems.failed("policy", error)
            return ()
        self._problems.clear("policy")
        return decisions

    def _period(self, time_s: float, settling: frozenset[PoolName], **what: Any) -> Turn:
        return Turn(
            time_s=time_s,
            before=self._plan,
            settling=settling,
            outcomes=tuple(self._outcomes),
            problems=self._problems.present(),
            news=self._problems.news(),
            **{"plan": self._plan, **what},
        )

    def _write(self, period: Turn) -> Turn:
        """Want what was decided, once it is written down; what cannot be written down is not wanted."""
        try:
            self._journal.write(period)
        except Exception as error:
            self._problems.failed("journal", error)
            return _undone(period)
        self._problems.told(period.news)
        self._problems.clear("journal")
        self._outcomes = self._outcomes[len(period.outcomes) :]
        if accepted := period.ruled(Ruling.ACCEPTED):
            self._outcomes += self._treatments.begin(_changed_pools(accepted, period.plan), period.time_s)
            self._plan, self._last_act_s = period.plan, period.time_s
        return period

    def _apply(self, time_s: float) -> None:
        """Tell the plant what is wanted. Problems with it are written down at once."""
        try:
            self._problems.set("apply", "; ".join(self._plant.apply(self._plan)))
        except Exception as error:
            self._problems.failed("apply", error)
        if not (news := self._problems.news()):
            return
        try:
            self._journal.note(time_s, news)
            self._problems.told(news)
        except Exception as error:  # they will be written with the next turn
            self._problems.failed("journal", error)

    def _tell(self, period: Turn) -> None:
        for listener in self._listeners:
            try:
                listener(period)
            except Exception as error:
                self._problems.failed("listener", error)


def _changed_pools(accepted: Iterable[Verdict], plan: Plan) -> list[tuple[int, PoolName]]:
    """The revision and the pool of each accepted decision; where operators were fused or split, the last one's."""
    return [(v.revision, plan.pools_of(v.decision)[-1]) for v in accepted if v.revision is not None]


def _least(goal: Goal) -> Plan:
    return Plan.initial(goal.topology, {name: goal.budget.minimum(name) for name in goal.topology.operators})


def _undone(period: Turn) -> Turn:
    """The same turn, when it could not be written down."""
    verdicts = [
        Verdict(v.decision, Ruling.REFUSED, "the journal could not be written") if v.ruling is Ruling.ACCEPTED else v
        for v in period.verdicts
    ]
    return msgspec.structs.replace(period, plan=period.before, verdicts=tuple(verdicts))


def _check_same_topology(plant: Plant, goal: Goal, plan: Plan | None) -> None:
    if plant.topology.fingerprint() != goal.topology.fingerprint():
        raise ConfigError(f"the plant runs topology {plant.topology.name!r}, the goal is for {goal.topology.name!r}")
    if plan is not None and plan.pool_of.keys() != goal.topology.operators.keys():
        raise ConfigError(
            f"the plan is for operators {', '.join(plan.pool_of)}; topology {goal.topology.name!r} "
            f"has {', '.join(goal.topology.operators)}"
        )
