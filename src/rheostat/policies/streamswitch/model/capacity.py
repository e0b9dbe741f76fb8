"""Capacity: the load that an executor is trusted with, and the latency projected for a load (StreamSwitch 4.2)."""

import math
from dataclasses import dataclass, field, replace

from rheostat.queueing.models.microbatch import LATENCY_IN_BATCHES

Stress = tuple[float, float]
"""Projected latency, and the overload λ − (1−ε)μ where the latency is infinite: so that two overloads compare."""


@dataclass(frozen=True, slots=True)
class Capacity:
    """μ and the safety margin ε; `batch_cost_s` is what a batch costs beside its work on a micro-batch engine.

    Records one by one have L_i = 1/((1−ε)μ − λ). A micro-batch ends with its slowest executor, so there L_i is that
    of the batch if all executors were as loaded as this one: 1.5·c/(1 − ρ) with ρ = λ/((1−ε)μ). Both are
    `numerator`/(`trusted_rate` − λ).
    """

    service_rate: float
    margin: float = 0.0
    batch_cost_s: float | None = None
    trusted_rate: float = field(init=False, repr=False, compare=False)
    numerator: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        trusted, batch_s = (1.0 - self.margin) * self.service_rate, self.batch_cost_s
        object.__setattr__(self, "trusted_rate", trusted)
        object.__setattr__(self, "numerator", 1.0 if batch_s is None else LATENCY_IN_BATCHES * batch_s * trusted)

    def latency_s(self, arrival_rate: float) -> float:
        """L_i under `arrival_rate`: it grows with it, and is infinite from (1−ε)μ on. Without arrivals it is 0, unless
        batches cost something anyway."""
        if arrival_rate <= 0.0 and self.batch_cost_s is None:
            return 0.0
        spare = self.trusted_rate - arrival_rate
        return self.numerator / spare if spare > 0.0 else math.inf

    def stress(self, arrival_rate: float) -> Stress:
        latency_s = self.latency_s(arrival_rate)
        return latency_s, arrival_rate - self.trusted_rate if latency_s == math.inf else 0.0

    def latency_at_s(self, bound_s: float) -> float:
        """What is expected without the margin under the load for which `bound_s` is projected."""
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
