"""How executors and operators fare: both the measured and the projected latency must be bad to act (3.3)."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from rheostat.policies.streamswitch.executor import Executor


class Health(StrEnum):
    """Of an executor, or of an operator as a whole."""

    GOOD = "good"
    MODERATE = "moderate"
    SEVERE = "severe"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """`alert_s` is l, for the measured latency l_i; `latency_s` is L, for the projected one L_i."""

    alert_s: float
    latency_s: float

    def health(self, executor: Executor) -> Health:
        """Severe when both are exceeded, good when neither is."""
        alarmed = executor.latency_s > self.alert_s
        exceeded = executor.projected_s > self.latency_s
        if alarmed and exceeded:
            return Health.SEVERE
        return Health.MODERATE if alarmed or exceeded else Health.GOOD

    def overall(self, executors: Iterable[Executor]) -> Health:
        """Severe if any executor is, good if all are."""
        each = {self.health(executor) for executor in executors}
        if Health.SEVERE in each:
            return Health.SEVERE
        return Health.MODERATE if Health.MODERATE in each else Health.GOOD
