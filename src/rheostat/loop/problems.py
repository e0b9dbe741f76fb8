"""Problems that last are told once: when they begin, when they change, and when they are over."""

import logging

from rheostat.loop.turn import Problem

_log = logging.getLogger("rheostat")


class ProblemLog:
    """The present problem of each part of the loop, and the news that nobody has fetched yet."""

    def __init__(self) -> None:
        self._present: dict[str, str] = {}
        self._news: list[Problem] = []

    def set(self, place: str, what: str, *, error: BaseException | None = None) -> None:
        """`place` has the problem `what`; an empty one ends it. Only a change is news."""
        if self._present.get(place, "") == what:
            return
        self._present[place] = what
        self._news.append(Problem(place, what))
        if what:
            _log.warning("%s: %s", place, what, exc_info=error)
        else:
            _log.info("%s: works again", place)

    def failed(self, place: str, error: BaseException) -> None:
        self.set(place, f"{type(error).__name__}: {error}", error=error)

    def clear(self, place: str) -> None:
        self.set(place, "")

    def present(self) -> tuple[Problem, ...]:
        return tuple(Problem(place, what) for place, what in self._present.items() if what)

    def news(self) -> tuple[Problem, ...]:
        """What began, changed or ended since `told`."""
        return tuple(self._news)

    def told(self, news: tuple[Problem, ...]) -> None:
        """`news` were written down."""
        del self._news[: len(news)]
