"""The event loop: arrivals, services, transfers and micro-batches, compiled.

Everything here moves tuples; what changes the cluster itself (executors that come, go and fail, substreams that
move) is rare, stands in `plant`, and uses the verbs of `control` between two calls of `run`.
"""

from typing import Any

import numpy as np

from rheostat.sim import batch_greedy, draw, near, osg, randomness
from rheostat.sim.choose import choose, substream_of
from rheostat.sim.heap import BATCH_END, DONE, SOURCE, TRANSIT, TRIGGER, kind_of, pop, push, replace, subject_of
from rheostat.sim.histogram import BINS, bin_of
from rheostat.sim.jit import at, entry, jit
from rheostat.sim.randomness import ARRIVALS, SERVICE
from rheostat.sim.state import BATCH_GREEDY, BY_KEY, NONE, OSG, OWN_QUEUES, SHARED_QUEUE, State, tables_at

FINISHED, NEEDS_MEMORY = 0, 1


@entry
def run(tables: Any, until: float) -> int:
    """Process every event up to `until`. Returns NEEDS_MEMORY, having lost nothing, when more room is needed."""
    s = tables_at(tables)
    world = s.world
    while world.events > 0 and at(s.heap, 0).time <= until:
        now = at(s.heap, 0).time
        code = at(s.heap, 0).code
        kind = kind_of(code)
        subject = subject_of(code)
        if world.free_tuples < _tuples_needed(s, kind, subject) or world.free_roots < 1:
            return NEEDS_MEMORY
        world.now = now
        if kind == DONE:
            _service_done(s, now, subject)
        elif kind == SOURCE:
            _record_enters(s, now, subject)
        else:
            pop(s)
            if kind == TRANSIT:
                arrive(s, now, subject)
            elif kind == TRIGGER:
                _start_batch(s, now, subject)
            else:
                _finish_batch(s, now, subject)
    world.now = until
    return FINISHED


@jit
def _tuples_needed(s: State, kind: int, subject: int) -> int:
    if kind == DONE:
        return at(s.producers, at(s.tuples, at(s.executors, subject).current).operator).fanout
    if kind == SOURCE:
        return at(s.producers, s.world.operators + subject).fanout
    if kind == BATCH_END:
        return at(s.producers, subject).fanout * at(s.operators, subject).batch_rows
    return 0


# --- sources ---------------------------------------------------------------------------------------------------


@jit
def wake_sources(s: State) -> None:
    """Schedule the next arrival of every source that ran out of known rates, now that `rates` is new."""
    for source in range(s.world.sources):
        if at(s.sources, source).parked:
            time = _next_arrival(s, source, s.world.chunk_start)
            if time != np.inf:
                push(s, time, SOURCE, source)


@jit
def _next_arrival(s: State, source: int, now: float) -> float:
    """When the next record enters: a renewal process in operational time, mapped back through the rates.

    Infinite when that is beyond the known rates; the source is parked then and keeps what is left of the gap.
    """
    world = s.world
    it = at(s.sources, source)
    left = it.left if it.left >= 0.0 else draw.gap(s, source)
    slot = int((now - world.chunk_start) / world.chunk_width)
    while slot < world.slots:
        slot_end = world.chunk_start + (slot + 1) * world.chunk_width
        end = min(slot_end, it.until)
        rate = at(s.rates, source * world.slots + slot).rate * (it.burst_factor if it.bursting else it.calm_factor)
        if rate > 0.0 and rate * (end - now) >= left:
            it.left = -1.0
            it.parked = 0
            return now + left / rate
        if end > now:
            left -= rate * (end - now)
            now = end
        if it.until <= now:
            it.bursting = 1 - it.bursting
            it.until = now + (it.burst_s if it.bursting else it.calm_s) * randomness.exponential(s, ARRIVALS)
        if slot_end <= now:
            slot += 1
    it.left = left
    it.parked = 1
    return np.inf


@jit
def _record_enters(s: State, now: float, source: int) -> None:
    following = _next_arrival(s, source, now)
    if following == np.inf:
        pop(s)
    else:
        replace(s, following, SOURCE, source)
    root = _new_root(s, now)
    distribution = at(s.sources, source).value
    value = 0 if distribution == NONE else draw.value_from(s, ARRIVALS, distribution)
    _emit(s, now, s.world.operators + source, root, value, NONE)
    _settle(s, now, root)


@jit
def _new_root(s: State, now: float) -> int:
    """A record enters. It is pending once itself, until all its copies have been sent."""
    world = s.world
    root = world.free_root
    it = at(s.roots, root)
    world.free_root = it.next
    world.free_roots -= 1
    world.entered += 1
    it.entry = now
    it.lost = 0
    it.pending = 1
    return root


@jit
def _settle(s: State, now: float, root: int) -> None:
    """One tuple of `root` is done; the record has left when nothing derived from it is pending."""
    it = at(s.roots, root)
    it.pending -= 1
    if it.pending > 0:
        return
    world = s.world
    if it.lost:
        world.lost += 1
    else:
        latency = now - it.entry
        world.left += 1
        world.latency_sum += latency
        world.latency_squares += latency * latency
        world.latency_max = max(world.latency_max, latency)
        at(s.histogram, bin_of(latency)).count += 1
        if latency > world.timeout_s:
            world.late += 1
    it.next = world.free_root
    world.free_root = root
    world.free_roots += 1


# --- streams ---------------------------------------------------------------------------------------------------


@jit
def _emit(s: State, now: float, producer: int, root: int, value: int, executor: int) -> None:
    """Write what one processed record gives to every stream behind `producer`."""
    it = at(s.producers, producer)
    if it.exclusive:
        _emit_to_one(s, now, producer, root, value, executor)
        return
    for edge in range(it.first, it.last):
        for _ in range(draw.children(s, edge)):
            _send(s, now, edge, root, value, executor)


@jit
def _emit_to_one(s: State, now: float, producer: int, root: int, value: int, executor: int) -> None:
    """The selectivities are shares here: the record goes to one stream, or leaves with what is missing to 1."""
    it = at(s.producers, producer)
    u = randomness.uniform(s, SERVICE)
    for edge in range(it.first, it.last):
        u -= at(s.edges, edge).selectivity
        if u < 0.0:
            _send(s, now, edge, root, value, executor)
            return


@jit
def _send(s: State, now: float, edge: int, root: int, value: int, executor: int) -> None:
    stream = at(s.edges, edge)
    stream.rows += 1
    at(s.roots, root).pending += 1
    i = _new_tuple(s)
    it = at(s.tuples, i)
    it.root = root
    it.operator = stream.target
    it.value = value if stream.value == NONE else draw.value_from(s, SERVICE, stream.value)
    it.substream = NONE
    it.sender = executor
    it.executor = NONE
    it.scheduler = 0 if executor == NONE else executor % at(s.operators, stream.target).schedulers
    it.epoch = NONE
    if executor != NONE and s.world.longest_hop_s > 0.0 and _has_own_queues(s, stream.target):
        it.executor = choose(s, i, stream.target)
        delay = _hop_s(s, executor, it.executor)
        if delay > 0.0:
            push(s, now + delay, TRANSIT, i)
            return
    arrive(s, now, i)


@jit
def _has_own_queues(s: State, operator: int) -> bool:
    it = at(s.operators, operator)
    return it.mode == OWN_QUEUES and it.servers > 0


@jit
def _hop_s(s: State, one: int, other: int) -> float:
    """How long a record is on its way between two executors."""
    level = near.distance(s, one, other)
    if level == near.ELSEWHERE:
        return s.world.node_hop_s
    return 0.0 if level == near.PROCESS else s.world.process_hop_s


@jit
def _receiving_s(s: State, sender: int, executor: int) -> float:
    """What it costs `executor` to take a record from another process or node."""
    if sender == NONE or s.world.node_cost_s + s.world.process_cost_s == 0.0:
        return 0.0
    level = near.distance(s, sender, executor)
    if level == near.ELSEWHERE:
        return s.world.node_cost_s
    return 0.0 if level == near.PROCESS else s.world.process_cost_s


# --- arrival and service ---------------------------------------------------------------------------------------


@jit
def arrive(s: State, now: float, i: int) -> None:
    """Tuple `i` reaches its operator."""
    operator = at(s.tuples, i).operator
    at(s.tuples, i).arrival = now
    it = at(s.operators, operator)
    it.arrived += 1
    _note_gap(s, operator, now)
    if it.mode == OWN_QUEUES:
        if it.grouping == BY_KEY:
            _arrive_by_key(s, now, i, operator)
        else:
            _arrive_at_any(s, now, i, operator)
    elif it.mode == SHARED_QUEUE:
        _arrive_at_shared_queue(s, now, i, operator)
    else:
        _arrive_for_batch(s, now, i, operator)


@jit
def _note_gap(s: State, operator: int, now: float) -> None:
    it = at(s.operators, operator)
    gap = now - it.last_arrival
    if it.last_arrival >= 0.0:
        it.gap_count += 1
        it.gap_sum += gap
        it.gap_squares += gap * gap
    it.last_arrival = now


@jit
def _arrive_by_key(s: State, now: float, i: int, operator: int) -> None:
    substream = substream_of(s, i, operator)
    it = at(s.substreams, substream)
    if it.held:
        join_substream(s, i, substream)
        append_held(s, i, substream)
    elif at(s.executors, it.owner).queued >= at(s.operators, operator).capacity:
        lose(s, now, i)
    else:
        join_substream(s, i, substream)
        enqueue(s, now, it.owner, i)


@jit
def _arrive_at_any(s: State, now: float, i: int, operator: int) -> None:
    executor = at(s.tuples, i).executor
    if executor == NONE or not at(s.executors, executor).accepting:
        if at(s.operators, operator).servers == 0:
            _wait(s, now, i, operator)
            return
        executor = choose(s, i, operator)
    if at(s.executors, executor).queued >= at(s.operators, operator).capacity:
        lose(s, now, i)
    else:
        enqueue(s, now, executor, i)


@jit
def _arrive_at_shared_queue(s: State, now: float, i: int, operator: int) -> None:
    executor = take_idle(s, at(s.operators, operator).home)
    if executor == NONE:
        _wait(s, now, i, operator)
    else:
        enqueue(s, now, executor, i)


@jit
def _wait(s: State, now: float, i: int, operator: int) -> None:
    """Tuple `i` joins the list from which executors help themselves, if there is room."""
    it = at(s.operators, operator)
    if at(s.operators, it.home).waiting >= it.capacity:
        lose(s, now, i)
    else:
        append_waiting(s, i, it.home)


@jit
def take_idle(s: State, home: int) -> int:
    """An executor that has nothing to do, or NONE.

    Those that were paused or got other work since they were listed are passed over; they list themselves again.
    """
    it = at(s.operators, home)
    while it.idles > 0:
        it.idles -= 1
        index = at(s.idle, home * s.world.width + it.idles).executor
        executor = at(s.executors, index)
        executor.listed = 0
        if executor.current == NONE and executor.paused == 0:
            return index
    return NONE


@jit
def _arrive_for_batch(s: State, now: float, i: int, operator: int) -> None:
    it = at(s.operators, operator)
    if it.waiting >= it.capacity:
        lose(s, now, i)
        return
    if it.grouping == BY_KEY:
        join_substream(s, i, substream_of(s, i, operator))
    append_waiting(s, i, operator)
    trigger(s, now, operator)


@jit
def enqueue(s: State, now: float, executor: int, i: int) -> None:
    """Give tuple `i` to `executor`, which starts on it at once if it is free."""
    it = at(s.executors, executor)
    it.arrived += 1
    if it.current == NONE and it.queued == 0 and it.paused == 0:
        serve(s, now, executor, i)
        return
    at(s.tuples, i).next = NONE
    if it.queued == 0:
        it.queue_head = i
    else:
        at(s.tuples, it.queue_tail).next = i
    it.queue_tail = i
    it.queued += 1


@jit
def serve(s: State, now: float, executor: int, i: int) -> None:
    """Let the idle `executor` serve tuple `i`."""
    at(s.executors, executor).done_code = push(s, _start(s, now, executor, i), DONE, executor)


@jit
def _start(s: State, now: float, executor: int, i: int) -> float:
    """Begin the service of tuple `i`; returns when it will be done."""
    it = at(s.executors, executor)
    tuple_ = at(s.tuples, i)
    occupy(s, it.node)
    work = draw.service_s(s, tuple_.operator, tuple_.value) + _receiving_s(s, tuple_.sender, executor)
    time = work / it.speed * _crowding(s, it.node)
    tuple_.service_s = time
    _note_service(s, tuple_.operator, time)
    if tuple_.substream != NONE:
        substream = at(s.substreams, tuple_.substream)
        if substream.serving != NONE:
            s.world.overlap += 1
        substream.serving = executor
    it.current = i
    it.started = now
    it.done = now + time
    return it.done


@jit
def occupy(s: State, node: int) -> None:
    """One executor more is busy on `node`."""
    if node != NONE:
        at(s.nodes, node).busy += 1


@jit
def vacate(s: State, node: int) -> None:
    if node != NONE:
        at(s.nodes, node).busy -= 1


@jit
def _crowding(s: State, node: int) -> float:
    """By what service on `node` is stretched: busy executors for each core, if there are more than cores."""
    if node == NONE:
        return 1.0
    return max(1.0, at(s.nodes, node).busy / at(s.nodes, node).cores)


@jit
def _note_service(s: State, operator: int, time: float) -> None:
    it = at(s.operators, operator)
    it.service_count += 1
    it.service_sum += time
    it.service_squares += time * time


@jit
def _service_done(s: State, now: float, executor: int) -> None:
    it = at(s.executors, executor)
    i = it.current
    it.completed += 1
    stop_serving(s, now, executor)
    following = take_next(s, executor)
    if following == NONE:
        pop(s)
    else:
        it.done_code = replace(s, _start(s, now, executor, following), DONE, executor)
    _complete(s, now, i, executor)


@jit
def stop_serving(s: State, now: float, executor: int) -> None:
    """`executor` is no longer busy with its tuple, be it done or broken off."""
    it = at(s.executors, executor)
    it.busy_s += now - it.started
    vacate(s, it.node)
    substream = at(s.tuples, it.current).substream
    if substream != NONE:
        at(s.substreams, substream).serving = NONE
    it.current = NONE
    it.done_code = NONE


@jit
def take_next(s: State, executor: int) -> int:
    """What `executor` serves next: from its own queue, or from the list it shares; NONE leaves it idle."""
    it = at(s.executors, executor)
    if it.paused > 0:
        return NONE
    if it.queued > 0:
        i = it.queue_head
        it.queue_head = at(s.tuples, i).next
        it.queued -= 1
        return i
    if it.home == NONE or not it.accepting:
        return NONE
    if at(s.operators, it.home).waiting > 0:
        it.arrived += 1
        return take_waiting(s, it.home)
    _list_as_idle(s, executor)
    return NONE


@jit
def _list_as_idle(s: State, executor: int) -> None:
    it = at(s.executors, executor)
    if not it.listed:
        it.listed = 1
        home = at(s.operators, it.home)
        at(s.idle, it.home * s.world.width + home.idles).executor = executor
        home.idles += 1


@jit
def _complete(s: State, now: float, i: int, executor: int) -> None:
    """Tuple `i` has been processed: count it, write what it gives, and let its root know."""
    done = at(s.tuples, i)
    latency = now - done.arrival
    it = at(s.operators, done.operator)
    it.completed += 1
    it.latency_sum += latency
    it.latency_squares += latency * latency
    it.latency_max = max(it.latency_max, latency)
    at(s.histogram, (1 + done.operator) * BINS + bin_of(latency)).count += 1
    if done.substream != NONE:
        _leave_substream(s, i, latency)
    if it.grouping in (OSG, BATCH_GREEDY):
        osg.completed(s, i, executor)
    _emit(s, now, done.operator, done.root, done.value, executor)
    _settle(s, now, done.root)
    _free_tuple(s, i)


@jit
def lose(s: State, now: float, i: int) -> None:
    """Tuple `i` found a full queue, or went down with its executor."""
    it = at(s.tuples, i)
    at(s.operators, it.operator).lost += 1
    at(s.roots, it.root).lost = 1
    _settle(s, now, it.root)
    _free_tuple(s, i)


# --- lists -----------------------------------------------------------------------------------------------------


@jit
def _new_tuple(s: State) -> int:
    i = s.world.free_tuple
    s.world.free_tuple = at(s.tuples, i).next
    s.world.free_tuples -= 1
    return i


@jit
def _free_tuple(s: State, i: int) -> None:
    at(s.tuples, i).next = s.world.free_tuple
    s.world.free_tuple = i
    s.world.free_tuples += 1


@jit
def append_waiting(s: State, i: int, operator: int) -> None:
    """Put tuple `i` at the end of the operator's own list (shared queue, input of the next batch, nobody serves)."""
    it = at(s.operators, operator)
    at(s.tuples, i).next = NONE
    if it.waiting == 0:
        it.waiting_head = i
    else:
        at(s.tuples, it.waiting_tail).next = i
    it.waiting_tail = i
    it.waiting += 1


@jit
def take_waiting(s: State, operator: int) -> int:
    it = at(s.operators, operator)
    i = it.waiting_head
    it.waiting_head = at(s.tuples, i).next
    it.waiting -= 1
    return i


@jit
def join_substream(s: State, i: int, substream: int) -> None:
    """Note the order of arrival within the substream: completions must keep it."""
    it = at(s.substreams, substream)
    new = at(s.tuples, i)
    new.substream = substream
    new.order = it.arrived
    new.next_in_substream = NONE
    it.arrived += 1
    if it.head == NONE:
        it.head = i
    else:
        at(s.tuples, it.tail).next_in_substream = i
    it.tail = i


@jit
def _leave_substream(s: State, i: int, latency: float) -> None:
    done = at(s.tuples, i)
    it = at(s.substreams, done.substream)
    it.completed += 1
    it.latency += latency
    if done.order <= it.last or it.head != i:
        s.world.disorder += 1
    it.last = done.order
    it.head = done.next_in_substream


@jit
def append_held(s: State, i: int, substream: int) -> None:
    """Keep tuple `i` with the substream itself until an executor is given to it."""
    it = at(s.substreams, substream)
    at(s.tuples, i).next = NONE
    if it.held_head == NONE:
        it.held_head = i
    else:
        at(s.tuples, it.held_tail).next = i
    it.held_tail = i


# --- micro-batches ---------------------------------------------------------------------------------------------


@jit
def trigger(s: State, now: float, operator: int) -> None:
    """Schedule the operator's next micro-batch if there is something to do and none is scheduled or running.

    Through the calendar even when it is due at once: what arrives at the same moment belongs to it.
    """
    it = at(s.operators, operator)
    if it.batch_code == NONE and it.waiting > 0 and it.paused == 0:
        due = max(now, it.batch_started + it.batch_trigger_s)
        it.batch_code = push(s, due, TRIGGER, operator)


@jit
def _start_batch(s: State, now: float, operator: int) -> None:
    """Take what waits into a batch. It ends when the slowest executor has done its share, after the fixed cost."""
    it = at(s.operators, operator)
    it.batch_code = NONE
    if it.paused > 0 or it.servers == 0:
        return
    it.batch_started = now
    it.batch_head = it.waiting_head
    it.batch_rows = min(it.waiting, it.batch_limit)
    if it.grouping == BATCH_GREEDY:
        batch_greedy.assign(s, operator)
    for _ in range(it.batch_rows):
        it.batch_tail = it.waiting_head
        _give_to_task(s, it.batch_tail, operator)
        it.waiting_head = at(s.tuples, it.batch_tail).next
    at(s.tuples, it.batch_tail).next = NONE
    it.waiting -= it.batch_rows
    it.batch_code = push(s, _batch_end(s, now, operator), BATCH_END, operator)


@jit
def _give_to_task(s: State, i: int, operator: int) -> None:
    row = at(s.tuples, i)
    row.executor = choose(s, i, operator)
    it = at(s.executors, row.executor)
    time = draw.service_s(s, operator, row.value) / it.speed
    row.service_s = time
    _note_service(s, operator, time)
    if it.rows == 0:
        occupy(s, it.node)
    it.rows += 1
    it.arrived += 1
    it.work_s += time


@jit
def leave_task(s: State, executor: int) -> None:
    """A row of a batch is done, or given up, on `executor`."""
    it = at(s.executors, executor)
    it.rows -= 1
    if it.rows == 0:
        vacate(s, it.node)


@jit
def _batch_end(s: State, now: float, operator: int) -> float:
    """When the batch that starts now will be done: c0 + c1·tasks, then the largest share of work in parallel.

    An executor that several operators share does one share after the other.
    """
    it = at(s.operators, operator)
    tasks = it.batch_tasks
    if tasks == 0:
        tasks = it.substreams if it.grouping == BY_KEY else it.servers
    fixed = it.batch_fixed_s + it.batch_task_s * tasks
    it.batch_overhead_s += fixed
    it.batch_task_count += tasks
    end = now + fixed
    for position in range(it.servers):
        executor = at(s.executors, at(s.server, operator * s.world.width + position).executor)
        work = executor.work_s * _crowding(s, executor.node)
        if work + executor.extra_s > 0.0:
            begin = max(now + fixed, executor.free_at, executor.away_until)
            executor.ahead_s = work + min(executor.ahead_s, max(0.0, executor.free_at - now))
            executor.free_at = begin + work + executor.extra_s
            executor.busy_s += work
            it.service_sum += work - executor.work_s
            executor.work_s = 0.0
            executor.extra_s = 0.0
            end = max(end, executor.free_at)
    return end


@jit
def _finish_batch(s: State, now: float, operator: int) -> None:
    it = at(s.operators, operator)
    it.batch_count += 1
    it.batch_duration_s += now - it.batch_started
    it.batch_code = NONE
    it.batch_rows = 0
    i = it.batch_head
    it.batch_head = NONE
    while i != NONE:
        following = at(s.tuples, i).next
        executor = at(s.tuples, i).executor
        at(s.executors, executor).completed += 1
        leave_task(s, executor)
        _complete(s, now, i, executor)
        i = following
    trigger(s, now, operator)
