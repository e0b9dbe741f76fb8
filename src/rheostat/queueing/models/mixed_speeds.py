"""Mixed speeds: executors of different speeds within one operator."""

import math
from typing import ClassVar

import msgspec

from rheostat.errors import ConfigError
from rheostat.queueing.models.gigk import GIGk
from rheostat.queueing.models.microbatch import MicroBatch
from rheostat.queueing.models.split_mm1 import SplitMM1

_FASTEST = 1e12


class MixedSpeeds(msgspec.Struct, frozen=True):
    """An operator whose executors run at `speeds` times its model's service rate, in the order in which they join.

    k of them serve at the mean of their rates; executors beyond the known ones are assumed to have the mean speed of
    all. A slow executor lowers the mean: the sojourn time may rise and fall again, so the model is not convex.
    """

    model: GIGk | SplitMM1 | MicroBatch
    speeds: tuple[float, ...]
    convex: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not self.speeds or not all(0.0 < speed <= _FASTEST for speed in self.speeds):
            raise ConfigError(
                f"speeds {self.speeds!r} must be numbers above 0, one for each known executor, and at most {_FASTEST:g}"
            )

    @property
    def arrival_rate(self) -> float:
        return self.model.arrival_rate

    def sojourn_s(self, executors: int) -> float:
        return self._even(executors).sojourn_s(executors)

    def utilisation(self, executors: int) -> float:
        return self._even(executors).utilisation(executors)

    def fewest(self) -> float:
        known = range(1, len(self.speeds))
        enough = (k for k in known if self.sojourn_s(k) < math.inf)
        return next(enough, max(len(self.speeds), self._even(len(self.speeds)).fewest()))

    def best(self, least: int = 1) -> float:
        return self._best(least)[1]

    def floor_s(self, least: int = 1) -> float:
        return self._best(least)[0]

    def _best(self, least: int) -> tuple[float, float]:
        """The least sojourn time and its k: with some of the known executors, or with all of them and more."""
        all_known = max(least, len(self.speeds))
        alike = self._even(all_known)
        more = (alike.floor_s(all_known), alike.best(all_known))
        return min([*((self.sojourn_s(k), k) for k in range(least, all_known)), more])

    def _even(self, executors: int) -> GIGk | SplitMM1 | MicroBatch:
        """The same operator with executors that all run at the mean speed of the first k."""
        first = self.speeds[:executors]
        mean = math.fsum(first) / len(first)
        return msgspec.structs.replace(self.model, service_rate=self.model.service_rate * mean)
