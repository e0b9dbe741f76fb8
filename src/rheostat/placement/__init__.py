"""Which task goes to which node and process, so that few nodes are used and chatty tasks are together (Ra-Stream).

A `Problem` has a `TaskGraph`, nodes and limits. `ra_stream` answers it; `algorithm(name)` gives the others.
"""

from rheostat.placement.algorithms import ALGORITHMS, algorithm
from rheostat.placement.anneal import Annealing, Search
from rheostat.placement.cost import Costs, Ways
from rheostat.placement.graph import Edge, Task, TaskGraph
from rheostat.placement.placement import Placement
from rheostat.placement.problem import Limits, Node, Problem
from rheostat.placement.rastream import ra_stream
from rheostat.placement.resources import Resources, Weights

__all__ = [
    "ALGORITHMS",
    "Annealing",
    "Costs",
    "Edge",
    "Limits",
    "Node",
    "Placement",
    "Problem",
    "Resources",
    "Search",
    "Task",
    "TaskGraph",
    "Ways",
    "Weights",
    "algorithm",
    "ra_stream",
]
