"""Erlang's formulas for k executors at an offered load a = λ/μ, without factorials.

Everything rests on 1/B, the reciprocal of Erlang's blocking probability. It obeys

    1/B(k) = 1 + (k/a) / B(k-1),        1/B(0) = 1,

a sum of positive terms, so each step adds one rounding error and magnifies none. Up to k = a the sum is
taken from its largest term down and ends where a term no longer counts: some 9√a terms instead of a.
Beyond the range of a double 1/B is infinite and the probabilities are 0.
"""

import math

import numpy as np

from rheostat.queueing.models.model import Counts, Floats

_ALL_TERMS_COUNT = 64.0
"""Up to this load every term of the sum counts, and the plain recursion is the shorter way."""


def inverse_blocking(executors: int, load: float) -> float:
    """1/B(k, a), the reciprocal of Erlang's B."""
    if load <= 0.0:
        return math.inf if executors else 1.0
    k, inverse = 0.0, 1.0
    if load > _ALL_TERMS_COUNT:
        k = float(min(executors, int(load)))
        inverse = _summed_from_the_top(k, load)
    while k < executors:
        k += 1.0
        inverse = 1.0 + inverse * k / load
    return inverse


def erlang_c(executors: int, load: float) -> float:
    """The probability that a tuple has to wait (M/M/k); 1 when the executors cannot keep up."""
    if executors <= load:
        return 1.0
    return executors / ((executors - load) * inverse_blocking(executors, load) + load)


def mean_waiting(executors: int, load: float) -> float:
    """The mean number of tuples that wait: λ·E[Q] of DRS eq. 2, by Little's law; infinite from ρ = 1 on."""
    if executors <= load:
        return math.inf
    return load * erlang_c(executors, load) / (executors - load)


def inverse_blockings(executors: Counts, load: Floats) -> Floats:
    """`inverse_blocking` for many operators side by side, equal to it bit by bit; loads must be positive."""
    start = np.where(load > _ALL_TERMS_COUNT, np.minimum(executors, load.astype(np.int64)), 0)
    inverse = _all_summed_from_the_top(start, load)
    short = np.flatnonzero(start < executors)
    k = start[short]
    with np.errstate(over="ignore"):
        while short.size:
            k += 1
            inverse[short] = 1.0 + inverse[short] * k / load[short]
            still = k < executors[short]
            short, k = short[still], k[still]
    return inverse


def _summed_from_the_top(left: float, load: float) -> float:
    """1/B(k, a) for k ≤ a as Σ k(k-1)…(k-i+1)/aⁱ, whose terms fall from 1."""
    total, term = 0.0, 1.0
    while total + term != total:
        total += term
        term *= left / load
        left -= 1.0
    return total


def _all_summed_from_the_top(executors: Counts, load: Floats) -> Floats:
    total, term = np.zeros_like(load), np.ones_like(load)
    left = executors.astype(np.float64)
    while np.any(total + term != total):
        total += term
        term *= left / load
        left = np.maximum(left - 1.0, 0.0)
    return total
