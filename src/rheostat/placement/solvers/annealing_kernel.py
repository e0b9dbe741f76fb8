"""Annealing kernel: the inner loop of the annealing, plain Python that numba can compile with bit-identical results.

It takes lists or arrays. Random numbers are drawn before, and the square root is the only library function: compiled
or not, the same draws lead to the same scheme.
"""

import math
from typing import NamedTuple

SLACK = 1e-9

Integers = list[int]
Numbers = list[float]
"""Or arrays of as many, for compiled code."""


class Tasks(NamedTuple):
    """The graph: neighbours of task v from start[v] to start[v + 1], and the demand and size of each task."""

    start: Integers
    neighbour: Integers
    rate: Numbers
    own: Numbers
    cpu: Numbers
    memory: Numbers
    io: Numbers
    size: Integers


class NodeCapacities(NamedTuple):
    """The nodes: shares per unit of demand, the slots, and the least weighted utilisation."""

    cpu: Numbers
    memory: Numbers
    io: Numbers
    slots: Numbers
    floor: Numbers


class Rules(NamedTuple):
    """ε, the total traffic, the weights of resources, T_over, and the share of proposals that follow the traffic."""

    epsilon: float
    total: float
    cpu: float
    memory: float
    io: float
    over: float
    guided: float


class Scheme(NamedTuple):
    """The node of each task, and the sums by node. `members` lists tasks by node, from first[node] on."""

    where: Integers
    inside: Numbers
    cpu: Numbers
    memory: Numbers
    io: Numbers
    held: Integers
    members: Integers
    first: Integers


class Draws(NamedTuple):
    """One entry for each proposal: the task, two uniform numbers, and an exponential one."""

    task: Integers
    aim: Numbers
    partner: Numbers
    threshold: Numbers


def sweep(
    tasks: Tasks,
    room: NodeCapacities,
    rules: Rules,
    scheme: Scheme,
    draws: Draws,
    heat: float,
    best: float,
    trail: Integers,
) -> tuple[float, int, int]:
    """Try every proposal at temperature `heat`: a task to another node or, if that is full, in exchange for one there.

    A worse scheme is accepted with probability exp(−Δf / heat) (Ra-Stream eq. 20, with its sign). `trail` records the
    task and former node of each step. Returns the best f, the number of steps, and the step after which f was best
    (−1 if it was not better than `best`).
    """
    nodes = len(room.slots)
    total, squares = sums(scheme, nodes)
    now = value(rules, nodes, total, squares)
    steps = 0
    best_step = -1
    for turn in range(len(draws.task)):
        task = draws.task[turn]
        target, partner = proposal(tasks, room, rules, scheme, draws, turn)
        if target < 0:
            continue
        source = scheme.where[task]
        lost, gained = exchange(tasks, scheme, task, partner, source, target)
        before, after = scheme.inside[source], scheme.inside[target]
        new_total = total - lost + gained
        new_squares = squares + lost * (lost - 2.0 * before) + gained * (gained + 2.0 * after)
        new = value(rules, nodes, new_total, new_squares)
        if new - now > heat * draws.threshold[turn]:
            continue
        total, squares, now = new_total, new_squares, new
        scheme.inside[source] = before - lost
        scheme.inside[target] = after + gained
        steps = move(tasks, scheme, task, source, target, trail, steps)
        if partner >= 0:
            steps = move(tasks, scheme, partner, target, source, trail, steps)
        if now < best:
            best = now
            best_step = steps
    return best, steps, best_step


def sums(scheme: Scheme, nodes: int) -> tuple[float, float]:
    """The traffic inside all nodes, and the sum of its squares by node."""
    total = squares = 0.0
    for node in range(nodes):
        total += scheme.inside[node]
        squares += scheme.inside[node] * scheme.inside[node]
    return total, squares


def proposal(
    tasks: Tasks, room: NodeCapacities, rules: Rules, scheme: Scheme, draws: Draws, turn: int
) -> tuple[int, int]:
    """The node that the task of proposal `turn` may move to, and the task to exchange it for (−1: none).

    The node is −1 if no move is possible.
    """
    task = draws.task[turn]
    source = scheme.where[task]
    target = aim(tasks, scheme, rules, task, draws.aim[turn], len(room.slots))
    if target == source:
        return -1, -1
    if may_move(tasks, room, rules, scheme, task, -1, source, target):
        return target, -1
    partner = member(scheme, target, draws.partner[turn])
    if partner >= 0 and may_move(tasks, room, rules, scheme, task, partner, source, target):
        return target, partner
    return -1, -1


def value(rules: Rules, nodes: int, total: float, squares: float) -> float:
    """f of a scheme from the traffic inside its subgraphs and its squares (eq. 16 to 19, scale-free)."""
    mean = total / nodes
    spread = math.sqrt(max(0.0, squares / nodes - mean * mean))
    return (rules.epsilon * (rules.total - total) + (1.0 - rules.epsilon) * spread) / rules.total


def aim(tasks: Tasks, scheme: Scheme, rules: Rules, task: int, u: float, nodes: int) -> int:
    """A node for `task`: mostly that of a random neighbour, sometimes any node."""
    first, last = tasks.start[task], tasks.start[task + 1]
    if u < rules.guided and last > first:
        return scheme.where[tasks.neighbour[first + int(u / rules.guided * (last - first))]]
    return int((u - rules.guided) / (1.0 - rules.guided) * nodes) if u >= rules.guided else int(u * nodes)


def member(scheme: Scheme, node: int, u: float) -> int:
    """A random task that was on `node` when the sweep began; −1 if it has left since."""
    first, last = scheme.first[node], scheme.first[node + 1]
    if last == first:
        return -1
    task = scheme.members[first + int(u * (last - first))]
    return task if scheme.where[task] == node else -1


def may_move(
    tasks: Tasks, room: NodeCapacities, rules: Rules, scheme: Scheme, task: int, partner: int, source: int, target: int
) -> bool:
    """Whether both nodes stay within their limits if `task` moves to `target` and `partner` (if any) to `source`."""
    cpu, memory, io, size = tasks.cpu[task], tasks.memory[task], tasks.io[task], tasks.size[task]
    if partner >= 0:
        cpu -= tasks.cpu[partner]
        memory -= tasks.memory[partner]
        io -= tasks.io[partner]
        size -= tasks.size[partner]
    return may_change(room, rules, scheme, target, cpu, memory, io, size) and may_change(
        room, rules, scheme, source, -cpu, -memory, -io, -size
    )


def may_change(
    room: NodeCapacities, rules: Rules, scheme: Scheme, node: int, cpu: float, memory: float, io: float, size: int
) -> bool:
    """Whether `node` holds what it has and so much more (as in `DraftScheme.fits`), and does not become too empty."""
    count = scheme.held[node] + size
    if count > room.slots[node]:
        return False
    most = (1.0 if count <= 1 else rules.over) + SLACK
    if (scheme.cpu[node] + cpu) * room.cpu[node] > most or (scheme.memory[node] + memory) * room.memory[node] > most:
        return False
    if (scheme.io[node] + io) * room.io[node] > most:
        return False
    full = weighted(room, rules, scheme, node, cpu, memory, io)
    return full >= room.floor[node] - SLACK and (count <= 1 or full <= rules.over + SLACK)


def weighted(
    room: NodeCapacities, rules: Rules, scheme: Scheme, node: int, cpu: float, memory: float, io: float
) -> float:
    """R of `node` with this change."""
    return (
        rules.cpu * (scheme.cpu[node] + cpu) * room.cpu[node]
        + rules.memory * (scheme.memory[node] + memory) * room.memory[node]
        + rules.io * (scheme.io[node] + io) * room.io[node]
    )


def exchange(tasks: Tasks, scheme: Scheme, task: int, partner: int, source: int, target: int) -> tuple[float, float]:
    """The traffic that `source` loses inside, and that which `target` gains: O(degree)."""
    lost = gained = tasks.own[task]
    for index in range(tasks.start[task], tasks.start[task + 1]):
        node = scheme.where[tasks.neighbour[index]]
        if node == source:
            lost += tasks.rate[index]
        elif node == target and tasks.neighbour[index] != partner:
            gained += tasks.rate[index]
    if partner >= 0:
        lost -= tasks.own[partner]
        gained -= tasks.own[partner]
        for index in range(tasks.start[partner], tasks.start[partner + 1]):
            node = scheme.where[tasks.neighbour[index]]
            if node == target:
                gained -= tasks.rate[index]
            elif node == source and tasks.neighbour[index] != task:
                lost -= tasks.rate[index]
    return lost, gained


def move(tasks: Tasks, scheme: Scheme, task: int, source: int, target: int, trail: Integers, steps: int) -> int:
    """Move `task` from `source` to `target` and record it in the trail; returns the new number of steps."""
    scheme.where[task] = target
    scheme.cpu[source] -= tasks.cpu[task]
    scheme.memory[source] -= tasks.memory[task]
    scheme.io[source] -= tasks.io[task]
    scheme.held[source] -= tasks.size[task]
    scheme.cpu[target] += tasks.cpu[task]
    scheme.memory[target] += tasks.memory[task]
    scheme.io[target] += tasks.io[task]
    scheme.held[target] += tasks.size[task]
    trail[2 * steps] = task
    trail[2 * steps + 1] = source
    return steps + 1


HELPERS = (sums, value, proposal, aim, member, may_move, may_change, weighted, exchange, move)
"""The functions that `sweep` calls."""
