"""Loads: the two test streams of figure 11. One rises, stays and falls; one has two sudden peaks and a longer one."""

from typing import Any

DURATION_S = 2400.0
_CALM, _BUSY = 20, 150

PROGRESSIVE: dict[str, Any] = {
    "shape": "progressive",
    "low": _CALM,
    "high": _BUSY,
    "start": "4m",
    "rise": "8m",
    "plateau": "8m",
    "fall": "8m",
}
ERRATIC: dict[str, Any] = {
    "shape": "step",
    "steps": [
        ["0m", _CALM],
        ["6m", _BUSY],
        ["8m", _CALM],
        ["13m", 1.2 * _BUSY],
        ["15m", _CALM],
        ["21m", 0.8 * _BUSY],
        ["31m", _CALM],
    ],
}
