"""The useful time of one executor: exact for batches that are over, a share of the time held for what is under way.

How much of a task's time is work (see `work`) is known when its batch is over. Until then it is guessed from the batch
before, and put right at the end.
"""


class Worked:
    """`total_s` never falls: what was put too high waits until the work has come up to it."""

    def __init__(self, total_s: float = 0.0) -> None:
        self.total_s = total_s
        self._known_s = total_s
        self._known_until_s = 0.0
        self._instance: str | None = None

    def read(self, instance: str, held_s: float, share: float) -> None:
        """The process `instance` has held its slots for `held_s` by now; of what no batch has told yet, `share` is
        work. What another process, or this one before it came, has held is not counted."""
        self._meet(instance, held_s)
        self.total_s = max(self.total_s, self._known_s + share * max(0.0, held_s - self._known_until_s))

    def settle(self, instance: str, work_s: float, held_s: float) -> None:
        """Batches are over in which it worked for `work_s`: all that it has held its slots for up to `held_s`."""
        self._meet(instance, held_s)
        self._known_s += work_s
        self._known_until_s = held_s
        self.total_s = max(self.total_s, self._known_s)

    def _meet(self, instance: str, held_s: float) -> None:
        if instance != self._instance:
            self._instance, self._known_s, self._known_until_s = instance, self.total_s, held_s
