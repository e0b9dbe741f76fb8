"""Starting size: how many executors an application has, or has asked for, before anything is decided about it.

Executors register one by one, seconds after an application has started. Those that are on their way count: otherwise
they would seem to be too many when they come.
"""

from collections.abc import Callable

from rheostat.clock import Clock
from rheostat.errors import ConfigError

START_TIMEOUT_S = 120.0
"""Executors that were asked for and have not registered for so long are not expected any more."""

_UNCHANGED_S = 3.0
_SETTLE_TIMEOUT_S = 30.0
_LOOK_EVERY_S = 0.2
_DEFAULT_INSTANCES = 2
"""Executors that Spark asks YARN and Kubernetes for if nothing else is set."""


def asked_for(
    master: str, setting: Callable[[str], str | None], *, target: int | None = None, cores_max: int | None = None
) -> int | None:
    """How many executors the application has asked for; None where Spark gives it all that it can.

    `target` is what dynamic allocation wants, or what was last requested in its place. `cores_max` is how many
    executors `spark.cores.max` allows.
    """
    if target is not None:
        return target
    instances = setting("spark.executor.instances")
    if instances is not None:
        try:
            asked = int(instances)
        except ValueError:
            raise ConfigError(f"spark.executor.instances {instances!r} is not a number of executors") from None
        return asked if cores_max is None else min(asked, cores_max)
    return _DEFAULT_INSTANCES if master.startswith(("yarn", "k8s")) else cores_max


class StartingSize:
    """Follows the number of registered executors upwards at once, and downwards after `timeout_s`.

    One that is missing is still starting, or is being replaced. `asked` is how many are expected at first.
    """

    def __init__(self, asked: int | None, timeout_s: float = START_TIMEOUT_S) -> None:
        self._expected, self._timeout_s = asked or 0, timeout_s
        self._missing_since_s: float | None = None

    def update(self, registered: int, now_s: float) -> int:
        """How many executors the application has now, those that are still starting included."""
        if registered >= self._expected:
            self._expected, self._missing_since_s = registered, None
            return registered
        if self._missing_since_s is None:
            self._missing_since_s = now_s
        if now_s - self._missing_since_s >= self._timeout_s:
            self._expected, self._missing_since_s = registered, None
        return self._expected


def wait_until_settled(count: Callable[[], int], clock: Clock) -> None:
    """Wait until the number of registered executors stays the same for a while, and is not zero; not for ever."""
    start_s = since_s = now_s = clock.now()
    seen = count()
    while (not seen or now_s - since_s < _UNCHANGED_S) and now_s - start_s < _SETTLE_TIMEOUT_S:
        clock.wait_until(now_s + _LOOK_EVERY_S)
        now_s, before, seen = clock.now(), seen, count()
        since_s = since_s if seen == before else now_s
