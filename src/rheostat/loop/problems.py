"""Problem log: what is wrong in each part of the loop, reported when it begins, when it changes and when it ends."""

import logging

from rheostat.loop.turn import WORKS_AGAIN, LoopProblem

_log = logging.getLogger("rheostat")


class ProblemLog:
    """The present problem of each part of the loop, and the changes that are not in the journal yet."""

    def __init__(self) -> None:
        self._present: dict[str, str] = {}
        self._changes: list[LoopProblem] = []

    def set(self, place: str, what: str, *, error: BaseException | None = None) -> None:
        """`place` has the problem `what`; an empty one ends it."""
        if self._present.get(place, "") == what:
            return
        self._present[place] = what
        self._changes.append(LoopProblem(place, what or WORKS_AGAIN))
        if what:
            _log.warning("%s: %s", place, what, exc_info=error)
        else:
            _log.info("%s: %s", place, WORKS_AGAIN)

    def failed(self, place: str, error: BaseException) -> None:
        self.set(place, f"{type(error).__name__}: {error}", error=error)

    def clear(self, place: str) -> None:
        self.set(place, "")

    def present(self) -> tuple[LoopProblem, ...]:
        return tuple(LoopProblem(place, what) for place, what in self._present.items() if what)

    def changes(self) -> tuple[LoopProblem, ...]:
        """What began, changed or ended and has not been `recorded`."""
        return tuple(self._changes)

    def recorded(self, changes: tuple[LoopProblem, ...]) -> None:
        """`changes` are in the journal."""
        del self._changes[: len(changes)]
