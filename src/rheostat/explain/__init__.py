"""Explanation of a run: from its journal, what was decided in each turn, on which numbers, and what came of it."""

from rheostat.explain.explanation import Explanation, explain, explain_turn

__all__ = ["Explanation", "explain", "explain_turn"]
