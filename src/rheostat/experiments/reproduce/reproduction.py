"""Reproduction: an experiment of a paper that can be run again, and its result."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rheostat.experiments.replicate import Mean

Progress = Callable[[float], None]
"""Called with the share of the work that is done, from 0 to 1."""

Cell = str | int | float | Mean | None
"""The value of a table cell; None is "not known" or "not printed"."""


@dataclass(frozen=True)
class Paper:
    """A paper whose experiments are run again. `about` opens its page: the setup and the reasons for it."""

    name: str
    title: str
    about: str


@dataclass(frozen=True)
class Effort:
    """How much time to spend: the number of `seeds`, and whether runs are shortened (`quick`).

    `traces` is a folder with recorded loads, for experiments that can use them instead of generated ones.
    """

    seeds: int = 5
    quick: bool = False
    traces: str | None = None

    def choose(self, full: float, quick: float) -> float:
        """`full`, or `quick` if runs are shortened."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Claim:
    """A claim of a paper, and whether it holds here: computed from the results, never written by hand.

    `given` says why a claim shows nothing, if it holds by construction or by fitting: it is then not counted. One that
    fails all the same is. `why` says why it fails where it does, if an experiment shows that.
    """

    text: str
    holds: bool
    evidence: str = ""
    given: str = ""
    why: str = ""

    @property
    def shows_nothing(self) -> bool:
        return self.holds and bool(self.given)


@dataclass(frozen=True)
class ReproductionResult:
    """A table with the paper's numbers next to ours, the paper's claims, and notes that interpret the differences.

    `draw` draws the picture on a matplotlib figure. `recorded` is the file with the recorded load, if one was used
    instead of a generated load.
    """

    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    claims: tuple[Claim, ...] = ()
    notes: tuple[str, ...] = ()
    draw: Callable[[Any], None] | None = None
    recorded: str | None = None

    def __post_init__(self) -> None:
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(f"row {row} has {len(row)} cells for {len(self.columns)} columns")


@dataclass(frozen=True)
class Reproduction:
    """An experiment of a paper. `name` starts with the name of the paper, as in `drs-fig6`; `figure` is "Figure 6" or
    "Table II" as in the paper; `setting` has the parameters, including those that the paper does not state. `also` are
    names of further figures that show the same runs."""

    name: str
    figure: str
    title: str
    run: Callable[[Effort, Progress], ReproductionResult]
    setting: str = ""
    also: tuple[str, ...] = ()

    @property
    def paper(self) -> str:
        return self.name.partition("-")[0]
