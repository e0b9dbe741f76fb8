"""Training: tabular Q-learning on a recorded stream, which number of executors is worth most at which input rate.

The state is the level of the rate in one period, the action the number of executors in the next one. As in the
strategy that DABS-Storm describes, what waits in queues is not part of the state.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rheostat.errors import ConfigError
from rheostat.policies.qlearning.table import LearnedDegrees, level_of


@dataclass(frozen=True)
class Lesson:
    """How to learn. An executor costs its share of `most`; records beyond `headroom` of the capacity cost `penalty`
    times their share of the input. What comes next does not depend on the number of executors, so a `discount` above
    0 adds noise to what is learned and nothing else."""

    most: int
    levels: int = 24
    episodes: int = 100
    headroom: float = 0.8
    penalty: float = 10.0
    discount: float = 0.0
    exploration: float = 0.5

    def reward(self, rate: float, executors: int, service_rate: float) -> float:
        """What a period at `rate` with so many executors is worth."""
        capacity = executors * service_rate * self.headroom
        beyond = max(0.0, 1.0 - capacity / rate) if rate > 0 else 0.0
        return -executors / self.most - self.penalty * beyond


def train(rates: Sequence[float], service_rate: float, lesson: Lesson, seed: int = 0) -> LearnedDegrees:
    """The table of an operator whose executors serve `service_rate` records/s each, after `rates` came period by
    period, again and again. The same seed gives the same table."""
    if len(rates) < 2:
        raise ConfigError(f"a stream of {len(rates)} periods is too short: give the rates of at least 2")
    if not service_rate > 0:
        raise ConfigError(f"service rate {service_rate!r} must be a number of records/s > 0")
    step = float(max(rates)) * (1 + 1e-9) / lesson.levels or 1.0
    states = [level_of(rate, step, lesson.levels) for rate in rates]
    worth, tries = np.zeros((lesson.levels, lesson.most)), np.zeros((lesson.levels, lesson.most))
    rewards = [[lesson.reward(rate, k + 1, service_rate) for k in range(lesson.most)] for rate in rates]
    rng = np.random.default_rng(seed)
    for _ in range(lesson.episodes):
        _episode(worth, tries, states, rewards, lesson, rng)
    seen = set(states[:-1])
    return LearnedDegrees(step, tuple(tuple(row.tolist()) if i in seen else None for i, row in enumerate(worth)))


def _episode(
    worth: np.ndarray,
    tries: np.ndarray,
    states: Sequence[int],
    rewards: Sequence[Sequence[float]],
    lesson: Lesson,
    rng: np.random.Generator,
) -> None:
    """Once through the stream: Q(s, a) becomes the mean of all r + γ · max Q(s′, ·) that it led to."""
    explores = rng.random(len(states)) < lesson.exploration
    any_action = rng.integers(lesson.most, size=len(states))
    for period in range(len(states) - 1):
        state, following = states[period], states[period + 1]
        action = int(any_action[period]) if explores[period] else int(worth[state].argmax())
        tries[state, action] += 1
        target = rewards[period + 1][action] + lesson.discount * worth[following].max()
        worth[state, action] += (target - worth[state, action]) / tries[state, action]
