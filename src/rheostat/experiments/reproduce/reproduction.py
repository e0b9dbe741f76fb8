"""What a reproduction is: an experiment of a paper that can be run here, and what came of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rheostat.experiments.replicate import Mean

Progress = Callable[[float], None]
"""Told which share of the work is done, from 0 to 1."""

Cell = str | int | float | Mean | None
"""What may stand in a table; None is "not known" or "not printed"."""


@dataclass(frozen=True)
class Paper:
    """A paper whose experiments are run again. `about` opens its page: what was set up how, and why."""

    name: str
    title: str
    about: str


@dataclass(frozen=True)
class Effort:
    """How much to spend: the number of `seeds`, and whether runs are to be `quick`, for a first look.

    `traces` is a folder with recorded loads, for experiments that can use them in place of generated ones.
    """

    seeds: int = 5
    quick: bool = False
    traces: str | None = None

    def choose(self, full: float, quick: float) -> float:
        """`full`, or `quick` for a first look."""
        return quick if self.quick else full


@dataclass(frozen=True)
class Claim:
    """Something that a paper claims, and whether it holds here: computed from the results, never typed."""

    text: str
    holds: bool
    evidence: str = ""


@dataclass(frozen=True)
class Outcome:
    """What came of a run: a table with the paper's numbers beside ours, claims, and notes that interpret both.

    `draw` draws the picture on a matplotlib figure. `recorded` is the file whose recorded load was used in place of a
    generated one.
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
    """An experiment of a paper. `name` begins with the paper's, as in `drs-fig6`; `figure` is the paper's own
    "Figure 6" or "Table II"; `setting` says what was chosen where the paper is silent. `also` are further names it
    answers to, of figures that show other sides of the same runs."""

    name: str
    figure: str
    title: str
    run: Callable[[Effort, Progress], Outcome]
    setting: str = ""
    also: tuple[str, ...] = ()

    @property
    def paper(self) -> str:
        return self.name.partition("-")[0]
