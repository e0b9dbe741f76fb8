"""What an executor is trusted with, and the latency that a load would have on it (StreamSwitch 4.2)."""

import math
from dataclasses import dataclass, replace

from rheostat.queueing.margin import projected_latency_s
from rheostat.queueing.microbatch import LATENCY_IN_BATCHES

Stress = tuple[float, float]
"""Projected latency, and the overload λ − (1−ε)μ where the latency is infinite: so that two overloads compare."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """μ and the safety margin ε; `batch_cost_s` is what a batch costs beside its work on a micro-batch engine.

    Records one by one have L_i = 1/((1−ε)μ − λ). A micro-batch ends with its slowest executor, so there L_i is that
    of the batch if all executors were as loaded as this one: 1.5·c/(1 − ρ) with ρ = λ/((1−ε)μ).
    """

    service_rate: float
    margin: float = 0.0
    batch_cost_s: float | None = None

    @property
    def trusted_rate(self) -> float:
        return (1.0 - self.margin) * self.service_rate

    def latency_s(self, arrival_rate: float) -> float:
        """L_i under `arrival_rate`: it grows with it, and is infinite from (1−ε)μ on."""
        if self.batch_cost_s is None:
            return projected_latency_s(arrival_rate, self.service_rate, self.margin)
        trusted = self.trusted_rate
        if arrival_rate >= trusted:
            return math.inf
        return LATENCY_IN_BATCHES * self.batch_cost_s * trusted / (trusted - arrival_rate)

    def stress(self, arrival_rate: float) -> Stress:
        latency_s = self.latency_s(arrival_rate)
        return latency_s, arrival_rate - self.trusted_rate if latency_s == math.inf else 0.0

    def latency_at_s(self, bound_s: float) -> float:
        """What is really to be expected, margin apart, under the load for which `bound_s` is projected."""
        if self.batch_cost_s is None:
            load = self.trusted_rate - 1.0 / bound_s
        else:
            load = self.trusted_rate * (1.0 - LATENCY_IN_BATCHES * self.batch_cost_s / bound_s)
        return replace(self, margin=0.0).latency_s(max(load, 0.0))

    def rate_for(self, arrival_rate: float, latency_s: float) -> float:
        """The service rate that an executor would need to serve `arrival_rate` within `latency_s`."""
        if self.batch_cost_s is None:
            trusted = arrival_rate + 1.0 / latency_s
        else:
            free = 1.0 - LATENCY_IN_BATCHES * self.batch_cost_s / latency_s
            trusted = arrival_rate / free if free > 0 else math.inf
        return trusted / (1.0 - self.margin)
