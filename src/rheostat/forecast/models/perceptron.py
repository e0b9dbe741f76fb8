"""Perceptron with one hidden layer, from a number to a number, trained by Adam.

It is scikit-learn's `MLPRegressor` with all of its defaults, draw by draw: a test compares the two. Written for one
input and one output it takes a fraction of the time, and PA-SPS's own predictor needs no further library.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from rheostat.forecast.model import Floats

_HIDDEN = 100
_PENALTY = 1e-4
_EPOCHS, _BATCH = 200, 200
_TOLERANCE, _MOST_FUTILE_EPOCHS = 1e-4, 10
"""Training ends when the loss has not fallen by the tolerance for more than this many epochs."""


@dataclass(frozen=True, eq=False)
class PerceptronWeights:
    """All weights in one vector, and its four parts as views, so that one step updates all of them."""

    all: Floats

    @property
    def slopes(self) -> Floats:
        return self.all[:_HIDDEN]

    @property
    def offsets(self) -> Floats:
        return self.all[_HIDDEN : 2 * _HIDDEN]

    @property
    def outer(self) -> Floats:
        return self.all[2 * _HIDDEN : -1]

    @property
    def base(self) -> Floats:
        return self.all[-1:]

    def hidden(self, x: Floats) -> Floats:
        """The activation of each neuron for each number: nothing below 0."""
        inside = np.multiply.outer(x, self.slopes)
        inside += self.offsets
        return np.asarray(np.maximum(inside, 0.0, out=inside))

    def predict(self, x: Floats) -> Floats:
        return np.asarray(self.hidden(x) @ self.outer + self.base)


def train(x: Floats, y: Floats, seed: int) -> PerceptronWeights:
    """Weights fitted to map `x` to `y`, in at most 200 epochs."""
    draw = np.random.RandomState(seed)
    weights = _drawn(draw)
    adam = Adam(weights.all)
    best, futile = math.inf, 0
    for order in _orders(len(x), draw):
        loss = 0.0
        for start in range(0, len(x), _BATCH):
            batch = order[start : start + _BATCH]
            of_batch, gradient = _gradient(weights, x[batch], y[batch])
            adam.step(gradient)
            loss += of_batch * len(batch) / len(x)
        futile = futile + 1 if loss > best - _TOLERANCE else 0
        best = min(best, loss)
        if futile > _MOST_FUTILE_EPOCHS:
            break
    return weights


class Adam:
    """Moves weights against their gradient, each by about the learning rate (Kingma and Ba, 2015)."""

    RATE, FIRST, SECOND, LEAST = 1e-3, 0.9, 0.999, 1e-8

    def __init__(self, weights: Floats) -> None:
        self._weights = weights
        self._mean, self._square = np.zeros_like(weights), np.zeros_like(weights)
        self._steps = 0

    def step(self, gradient: Floats) -> None:
        self._steps += 1
        self._mean += (1 - self.FIRST) * (gradient - self._mean)
        self._square += (1 - self.SECOND) * (gradient * gradient - self._square)
        rate = self.RATE * math.sqrt(1 - self.SECOND**self._steps) / (1 - self.FIRST**self._steps)
        self._weights -= rate * self._mean / (np.sqrt(self._square) + self.LEAST)


def _drawn(draw: np.random.RandomState) -> PerceptronWeights:
    """Uniform within Glorot and Bengio's bound: layer by layer, weights before offsets."""
    bound = math.sqrt(6 / (1 + _HIDDEN))
    return PerceptronWeights(draw.uniform(-bound, bound, 3 * _HIDDEN + 1))


def _orders(count: int, draw: np.random.RandomState) -> Iterator[np.ndarray[tuple[int], np.dtype[np.intp]]]:
    """For each epoch an order of the samples, shuffled from the previous one."""
    order = np.arange(count)
    for _ in range(_EPOCHS):
        shuffled = np.arange(count)
        draw.shuffle(shuffled)
        order = order[shuffled]
        yield order


def _gradient(weights: PerceptronWeights, x: Floats, y: Floats) -> tuple[float, Floats]:
    """Half the mean squared error plus the penalty of large weights, and its gradient."""
    hidden = weights.hidden(x)
    error = hidden @ weights.outer + weights.base - y
    gradient = PerceptronWeights(np.empty_like(weights.all))
    through = np.stack((error * x, error)) @ (hidden > 0).astype(float) * weights.outer
    gradient.slopes[:] = through[0] + _PENALTY * weights.slopes
    gradient.offsets[:] = through[1]
    gradient.outer[:] = error @ hidden + _PENALTY * weights.outer
    gradient.base[:] = error.sum()
    size = weights.slopes @ weights.slopes + weights.outer @ weights.outer
    return float((error @ error + _PENALTY * size) / (2 * len(x))), gradient.all / len(x)
