"""Placement of tasks on nodes and processes: few nodes, with tasks that exchange much traffic together (Ra-Stream).

A `PlacementProblem` has a `TaskGraph`, nodes and limits. `ra_stream` solves it; `algorithm(name)` gives others.
"""

from rheostat.placement.algorithms import ALGORITHMS, algorithm
from rheostat.placement.model.placement import Placement
from rheostat.placement.model.problem import PlacementNode, PlacementProblem, UtilisationLimits
from rheostat.placement.model.resources import Resources, ResourceWeights
from rheostat.placement.model.task_graph import Edge, Task, TaskGraph
from rheostat.placement.model.transfer_cost import Costs, Ways
from rheostat.placement.solvers.annealing import Annealing, Search
from rheostat.placement.solvers.ra_stream import ra_stream

__all__ = [
    "ALGORITHMS",
    "Annealing",
    "Costs",
    "Edge",
    "Placement",
    "PlacementNode",
    "PlacementProblem",
    "ResourceWeights",
    "Resources",
    "Search",
    "Task",
    "TaskGraph",
    "UtilisationLimits",
    "Ways",
    "algorithm",
    "ra_stream",
]
