"""An outcome's picture as a file."""

from importlib.util import find_spec
from pathlib import Path

from rheostat.experiments.reproduce.reproduction import Outcome

_WIDTH_IN, _HEIGHT_IN, _DPI = 7.5, 4.2, 90


def can_draw() -> bool:
    """Whether matplotlib is there; tables are worth having without it."""
    return find_spec("matplotlib") is not None


def save_picture(outcome: Outcome, path: Path) -> bool:
    """Draw `outcome` into the file at `path`; False when it has no picture, or nothing here can draw it."""
    if outcome.draw is None or not can_draw():
        return False
    import matplotlib.figure

    figure = matplotlib.figure.Figure(figsize=(_WIDTH_IN, _HEIGHT_IN), layout="constrained")
    outcome.draw(figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=_DPI)
    return True
