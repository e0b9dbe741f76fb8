"""Random failures benchmark: time until a pipeline gets on after kills, restarts and resizing of its cluster.

    python -m bench.random_failures --sequences 50 --seed 1 [--resume-file FILE]

Each sequence starts a small cluster and a pipeline on it (a source, a stateless operator and a keyed count over files)
and then has three to five random events: a pool is scaled; an executor, a worker or the driver is killed (SIGKILL); the
driver is restarted; the cluster shrinks or grows. Input never stops. After each event every query must commit a batch
that began after it, and no pool may have a backlog and no executor while another has two, all within a minute. At the
end the input is drained, and the results must be exactly those of a batch job. The benchmark ends with status 1 if a
sequence fails, and names the seed that repeats it.
"""

import argparse
import os
import pickle
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Self

import msgspec
import pyarrow.parquet
from bench._commanded_driver import MAX_EXECUTORS, POOLS, QUERIES, STOP, Status

from rheostat.decision import Scale
from rheostat.errors import RheostatError
from rheostat.names import PoolName
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node

GET_ON_TIMEOUT_S = 60.0
DRAIN_TIMEOUT_S = 120.0
STOP_TIMEOUT_S = 60.0
NODE_SLOTS = 2
FIRST_NODES = 3
MOST_NODES = 4
NEEDED_SLOTS = len(POOLS) + 1
"""One executor for each pool and one for the source: the cluster never has fewer slots for long."""

EVENTS = {
    "scale": 3,
    "kill executor": 3,
    "kill worker": 2,
    "kill driver": 2,
    "restart driver": 1,
    "shrink": 1,
    "grow": 1,
}
"""How often each event is drawn, relative to the others."""

WORDS = [f"word{number}" for number in range(20)]
_LINES_PER_FILE = 8
_WORDS_PER_LINE = 4
_FEED_EVERY_S = 0.5
_POLL_S = 0.1
_MOST_PAUSE_S = 2.0
_VERDICT_TIMEOUT_S = 11.0
_EXECUTOR_CLASS = "org.apache.spark.executor.CoarseGrainedExecutorBackend"


class SequenceError(Exception):
    """What went wrong in a sequence."""


class EventRecord(msgspec.Struct, frozen=True):
    """An event, what it was about, and the seconds until the pipeline got on."""

    kind: str
    what: str
    took_s: float


class SequenceRecord(msgspec.Struct, frozen=True):
    """A finished sequence. `failure` is empty when all was well."""

    seed: int
    events: tuple[EventRecord, ...]
    words: int = 0
    failure: str = ""


class DriverProcess:
    """The driver: a group of processes, what they print, and the newest status."""

    def __init__(self, address: Path, inbox: Path, directory: Path, log: Path) -> None:
        self.status: Status | None = None
        self.log = log
        command = [sys.executable, "-m", "bench._commanded_driver", str(address), str(inbox), str(directory)]
        with log.open("ab") as errors:
            self._process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                process_group=0,
                cwd=Path(__file__).parents[1],
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def scale(self, decision: Scale) -> None:
        self._write(msgspec.json.encode(decision).decode())

    def stop(self) -> None:
        """Let it finish the running batches and end."""
        self._write(STOP)
        self._await_end("stopped", STOP_TIMEOUT_S)

    def drain(self) -> None:
        """Let it process all its input and end."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._await_end("drained", DRAIN_TIMEOUT_S)

    def kill(self) -> None:
        """End Python, the JVM and all that belongs to them at once. A second call does nothing."""
        if not self.ended:
            os.killpg(self._process.pid, signal.SIGKILL)
            self._process.wait()
        self._reader.join()

    def _write(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()

    def _await_end(self, how: str, timeout_s: float) -> None:
        try:
            code = self._process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            raise SequenceError(f"the driver is not {how} within {timeout_s:.0f} s") from None
        if code != 0:
            raise SequenceError(f"the driver ended with status {code} when it was {how}")

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                self.status = msgspec.json.decode(line, type=Status)


class Feed:
    """Writes a small file of words twice a second while it is open, and counts the words."""

    def __init__(self, inbox: Path, rng: random.Random) -> None:
        self.words: Counter[str] = Counter()
        self._inbox, self._rng = inbox, rng
        self._draft = inbox.with_name("draft")
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._inbox.mkdir()
        self._thread.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.end()

    def end(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        number = 0
        while not self._ended.wait(_FEED_EVERY_S):
            lines = [self._rng.choices(WORDS, k=_WORDS_PER_LINE) for _ in range(_LINES_PER_FILE)]
            self._draft.write_text("\n".join(" ".join(line) for line in lines))
            self._draft.rename(self._inbox / f"{number:06d}.txt")
            self.words.update(word for line in lines for word in line)
            number += 1


class FailureSequence:
    """A pipeline on a cluster, and what can happen to them."""

    def __init__(self, cluster: EmbeddedCluster, folder: Path, seed: int) -> None:
        self.cluster, self.folder = cluster, folder
        self.rng = random.Random(seed)
        self.events: list[EventRecord] = []
        self._inbox, self._run = folder / "inbox", folder / "run"
        self.feed = Feed(self._inbox, random.Random(-seed))
        self._address = folder / "address"
        self._address.write_bytes(pickle.dumps(cluster.address))
        self._address.chmod(0o600)
        self._alive = {node.name: node for node in cluster.nodes}
        self._nodes_made = len(self._alive)
        self.driver: DriverProcess | None = None
        self._happen: dict[str, Callable[[], str]] = {
            "start": self._start,
            "scale": self._scale,
            "kill executor": self._kill_executor,
            "kill worker": self._kill_worker,
            "kill driver": self._kill_driver,
            "restart driver": self._restart_driver,
            "shrink": self._shrink,
            "grow": self._grow,
        }

    def run(self) -> None:
        """Start, then let random events happen one after the other, and check the results."""
        with self.feed:
            self._event("start")
            for _ in range(self.rng.randint(3, 5)):
                time.sleep(self.rng.uniform(0, _MOST_PAUSE_S))
                possible = [kind for kind in EVENTS if self._is_possible(kind)]
                self._event(self.rng.choices(possible, [EVENTS[kind] for kind in possible])[0])
        assert self.driver is not None
        self.driver.drain()
        check_results(self._run / "results" / "count", self.feed.words)

    def close(self) -> None:
        if self.driver is not None:
            self.driver.kill()

    def _event(self, kind: str) -> None:
        before, began_s = self._commits(), time.monotonic()
        what = self._happen[kind]()
        try:
            self._await(lambda: self._gets_on(before), f"{kind} {what}".strip(), began_s + GET_ON_TIMEOUT_S)
        finally:
            self.events.append(EventRecord(kind, what, time.monotonic() - began_s))
            print(f"  {self.events[-1].took_s:6.1f} s  {kind:15} {what}", flush=True)

    def _is_possible(self, kind: str) -> bool:
        if kind == "shrink":
            return (len(self._alive) - 1) * NODE_SLOTS >= NEEDED_SLOTS
        return kind != "grow" or len(self._alive) < MOST_NODES

    def _start(self) -> str:
        number = len(list(self.folder.glob("driver-*.log")))
        self.driver = DriverProcess(self._address, self._inbox, self._run, self.folder / f"driver-{number}.log")
        return ""

    def _scale(self) -> str:
        status = self._status()
        room = MAX_EXECUTORS - 1 - sum(status.planned.values())
        sizes = {pool: range(1, room + status.planned[pool] + 1) for pool in POOLS}
        changes = [(pool, size) for pool in POOLS for size in sizes[pool] if size != status.planned[pool]]
        pool, size = self.rng.choice(changes)
        assert self.driver is not None
        self.driver.scale(Scale(pool=PoolName(pool), executors=size, reason="drawn at random"))
        what = f"{pool} {status.planned[pool]} -> {size}"
        return what + self._verdict(status.revision)

    def _verdict(self, revision: int) -> str:
        """Empty if the plan changes, else why it does not."""
        why, end_s = "", time.monotonic() + _VERDICT_TIMEOUT_S
        while time.monotonic() < end_s:
            status = self._status()
            if status.revision > revision:
                return ""
            why = "; ".join(status.refused) or why
            time.sleep(_POLL_S)
        return f" (refused: {why or 'no verdict'})"

    def _kill_executor(self) -> str:
        found = executor_processes(self.cluster.logs.parent)
        if not found:
            return "(there is none)"
        instance, pid = self.rng.choice(found)
        pools = [name for name, serving in self._status().serving.items() if instance in serving]
        os.kill(pid, signal.SIGKILL)
        return f"{instance} of {pools[0] if pools else 'the source, or one that starts'}"

    def _kill_worker(self) -> str:
        name = self.rng.choice(sorted(self._alive))
        lost = (len(self._alive) - 1) * NODE_SLOTS >= NEEDED_SLOTS and self.rng.random() < 0.5
        os.kill(self.cluster.worker_pid(name), signal.SIGKILL)
        node = self._alive.pop(name)
        if lost:
            return f"{name}, for good"
        self._await_end_of(name)
        self.cluster.add_node(node)
        self._alive[name] = node
        return f"{name}, which is started again"

    def _kill_driver(self) -> str:
        assert self.driver is not None
        self.driver.kill()
        self._start()
        return "and start it again"

    def _restart_driver(self) -> str:
        assert self.driver is not None
        self.driver.stop()
        self._start()
        return "after it has finished its batches"

    def _shrink(self) -> str:
        name = self.rng.choice(sorted(self._alive))
        os.kill(self.cluster.worker_pid(name), signal.SIGTERM)
        del self._alive[name]
        return f"by {name}, {self._slots} slots are left"

    def _grow(self) -> str:
        self._nodes_made += 1
        node = small_node(self._nodes_made)
        self.cluster.add_node(node)
        self._alive[node.name] = node
        return f"by {node.name} to {self._slots} slots"

    @property
    def _slots(self) -> int:
        return NODE_SLOTS * len(self._alive)

    def _status(self) -> Status:
        if self.driver is None or self.driver.ended or self.driver.status is None:
            raise SequenceError("the driver shows no status")
        return self.driver.status

    def _commits(self) -> dict[str, int]:
        """The number of the newest committed batch of each query, from its checkpoint."""
        return {query: newest_commit(self._run / "checkpoints" / query) for query in QUERIES}

    def _gets_on(self, before: dict[str, int]) -> bool:
        """Whether every query has committed a batch that began after the commits `before`, and no pool starves."""
        now, status = self._commits(), None if self.driver is None else self.driver.status
        if status is None or any(now[query] < before[query] + 2 for query in QUERIES):
            return False
        starves = any(status.backlog.get(pool) and not serving for pool, serving in status.serving.items())
        return not (starves and any(len(serving) > 1 for serving in status.serving.values()))

    def _await_end_of(self, name: str) -> None:
        """Until all its threads are gone: only then can a process that was killed be waited for."""
        process = Path(f"/proc/{self.cluster.worker_pid(name)}")
        while len(list(process.glob("task/*"))) > 1 or " Z " not in (process / "stat").read_text():
            time.sleep(_POLL_S)

    def _await(self, holds: Callable[[], bool], what: str, end_s: float) -> None:
        assert self.driver is not None
        while not holds():
            if self.driver.ended:
                raise SequenceError(f"the driver ended after: {what}")
            if time.monotonic() > end_s:
                raise SequenceError(f"not got on within {GET_ON_TIMEOUT_S:.0f} s after: {what}")
            time.sleep(_POLL_S)


def small_node(number: int) -> Node:
    return Node(f"node-{number}", cores=NODE_SLOTS, memory=f"{NODE_SLOTS}g")


def newest_commit(checkpoint: Path) -> int:
    return max((int(file.name) for file in checkpoint.glob("commits/*") if file.name.isdigit()), default=-1)


def executor_processes(folder: Path) -> list[tuple[str, int]]:
    """Executors of the newest application on the cluster in `folder`: their ids in Spark, and their process ids."""
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        if _EXECUTOR_CLASS in words and str(folder) in " ".join(words):
            arguments = dict(pairwise(words))
            found[arguments["--app-id"]].append((int(arguments["--executor-id"]), int(process.name)))
    newest = sorted(found[max(found)]) if found else []
    return [(str(number), pid) for number, pid in newest]


def check_results(folder: Path, expected: Counter[str]) -> None:
    """Each new count of a word is larger than the one before, and the last one is that of a batch job."""
    newest: dict[str, int] = {}
    rows = pyarrow.parquet.read_table(folder).to_pylist()
    for row in sorted(rows, key=lambda row: int(row["batch"])):
        if row["count"] <= newest.get(row["word"], 0):
            raise SequenceError(f"batch {row['batch']}: {row['word']!r} {newest[row['word']]} -> {row['count']}")
        newest[row["word"]] = row["count"]
    wrong = [f"{w!r} {newest.get(w, 0)} of {expected[w]}" for w in expected if newest.get(w, 0) != expected[w]]
    if wrong:
        raise SequenceError(f"results are not exact: {', '.join(wrong)}")


def run_sequence(seed: int) -> SequenceRecord:
    """Run one sequence. When it fails, its folder is kept."""
    print(f"sequence {seed}", flush=True)
    with ExitStack() as stack:
        folder = stack.enter_context(_folder(seed))
        cluster = EmbeddedCluster([small_node(n + 1) for n in range(FIRST_NODES)], directory=folder / "cluster")
        sequence = FailureSequence(stack.enter_context(cluster), folder, seed)
        stack.callback(sequence.close)
        try:
            sequence.run()
        except (SequenceError, RheostatError) as error:
            print(f"  FAILED: {error}\n{_evidence(sequence)}", flush=True)
            (folder / "failed").touch()
            return SequenceRecord(seed, tuple(sequence.events), sequence.feed.words.total(), str(error))
        print(f"  exact: {sequence.feed.words.total():,} words", flush=True)
        return SequenceRecord(seed, tuple(sequence.events), sequence.feed.words.total())


@contextmanager
def _folder(seed: int) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix=f"rheostat-failures-{seed}-"))
    yield folder
    if not (folder / "failed").exists():
        shutil.rmtree(folder, ignore_errors=True)


def _evidence(sequence: FailureSequence) -> str:
    status = sequence.driver and sequence.driver.status
    lines = [f"  folder: {sequence.folder}", f"  status: {status}"]
    if sequence.driver is not None:
        log = sequence.driver.log.read_text(errors="replace").splitlines()
        lines += [f"  | {line}" for line in log[-15:]]
    return "\n".join(lines)


def print_summary(records: list[SequenceRecord]) -> None:
    """By kind of event the number, the median and the longest time; then what failed."""
    by_kind: defaultdict[str, list[float]] = defaultdict(list)
    for record in records:
        for event in record.events:
            by_kind[event.kind].append(event.took_s)
    print(f"\n{'event':16}{'number':>7}{'median':>10}{'max':>10}")
    for kind, times in by_kind.items():
        print(f"{kind:16}{len(times):7}{median(times):8.1f} s{max(times):8.1f} s")
    failed = [record for record in records if record.failure]
    words = sum(record.words for record in records)
    print(f"{len(records)} sequences, {sum(map(len, by_kind.values()))} events, {words:,} words, {len(failed)} failed")
    for record in failed:
        print(f"  --sequences 1 --seed {record.seed}: {record.failure}")


def finished_in(file: Path | None) -> dict[int, SequenceRecord]:
    """The sequences that an earlier run has recorded, by seed."""
    if file is None or not file.exists():
        return {}
    records = [msgspec.json.decode(line, type=SequenceRecord) for line in file.read_text().splitlines()]
    return {record.seed: record for record in records}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sequences", type=int, default=50, metavar="N")
    parser.add_argument("--seed", type=int, default=1, help="seed of the first sequence; the others have the next ones")
    parser.add_argument("--resume-file", type=Path, help="records finished sequences, and skips those it has")
    arguments = parser.parse_args()
    done, records = finished_in(arguments.resume_file), []
    for seed in range(arguments.seed, arguments.seed + arguments.sequences):
        record = done.get(seed) or run_sequence(seed)
        records.append(record)
        if arguments.resume_file is not None and seed not in done:
            with arguments.resume_file.open("ab") as file:
                file.write(msgspec.json.encode(record) + b"\n")
    print_summary(records)
    if any(record.failure for record in records):
        sys.exit(1)


if __name__ == "__main__":
    main()
