"""Plan for a little more than was measured.

Node after node filled to the limit by a measured load would be beyond it as soon as the next frame differs a little,
and would be planned again. What a plan has in reserve is what the load may differ by until then.
"""

import dataclasses

import numpy as np

from rheostat.placement import Placement, PlacementProblem


def with_reserve(problem: PlacementProblem, share: float) -> PlacementProblem:
    """The same with demands larger by `share`, but none larger than the largest node."""
    most = np.array([node.supply for node in problem.nodes]).max(axis=0)
    demands = np.minimum((1 + share) * problem.graph.demands, np.maximum(most, problem.graph.demands))
    return PlacementProblem(dataclasses.replace(problem.graph, demands=demands), problem.nodes, problem.limits)


def posed(problem: PlacementProblem, placement: Placement) -> Placement:
    """A placement that was found for other demands as one of `problem`."""
    return Placement(problem, placement.scheme, placement.processes)
