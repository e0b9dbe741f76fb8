"""Catalogue: all papers and reproductions, collected from the modules of each paper's subpackage."""

import pkgutil
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import ModuleType

from rheostat.errors import ConfigError, nearest
from rheostat.experiments import reproduce
from rheostat.experiments.reproduce.reproduction import Paper, Reproduction

ALL = "all"


@dataclass(frozen=True)
class Catalogue:
    """Papers and reproductions by name, in the order of papers and, within one, of figures."""

    papers: dict[str, Paper]
    reproductions: dict[str, Reproduction]

    def of(self, paper: str) -> list[Reproduction]:
        return [each for each in self.reproductions.values() if each.paper == paper]

    def find(self, word: str) -> list[Reproduction]:
        """The reproductions that `word` selects: one by its name, all of a paper, or all."""
        if word == ALL:
            return list(self.reproductions.values())
        if word in self.papers:
            return self.of(word)
        names = {name: each for each in self.reproductions.values() for name in (each.name, *each.also)}
        if word in names:
            return [names[word]]
        known = [*names, *self.papers, ALL]
        raise ConfigError(f"there is no reproduction {word!r}; {nearest(word, known)}")


def catalogue() -> Catalogue:
    """All papers and reproductions of the package."""
    packages = [import_module(name) for name, is_package in _below(reproduce) if is_package]
    papers = {package.PAPER.name: package.PAPER for package in packages}
    found = [each for package in packages for module in _modules(package) for each in _reproductions(module)]
    return Catalogue(papers, {each.name: each for each in sorted(found, key=_order)})


def _below(package: ModuleType) -> Iterator[tuple[str, bool]]:
    for module in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        yield module.name, module.ispkg


def _modules(package: ModuleType) -> list[ModuleType]:
    return [import_module(name) for name, _ in _below(package)]


def _reproductions(module: ModuleType) -> tuple[Reproduction, ...]:
    return getattr(module, "REPRODUCTIONS", ())


def _order(reproduction: Reproduction) -> tuple[str, bool, int, str]:
    """By paper, then figures before tables, then by number: figure 10 follows figure 9."""
    digits = "".join(filter(str.isdigit, reproduction.name))
    return reproduction.paper, "table" in reproduction.name, int(digits or 0), reproduction.name
