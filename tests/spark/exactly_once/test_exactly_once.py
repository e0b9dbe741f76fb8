"""Nothing is lost or doubled, whatever changes and whoever dies in the middle of a batch.

One pipeline lives through all of it, in a driver of its own on a cluster of its own, with files and then with Kafka
topics as the streams between its operators. In the end its results are those of a batch job over the same lines.
"""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path

import msgspec
import pyarrow.parquet
import pytest
from driver import Status

from rheostat.decision import Decision, Move, Scale, Transfer
from rheostat.spark.cluster.embedded import EmbeddedCluster
from rheostat.spark.cluster.node import Node
from rheostat.spark.kafka.local_broker import LocalBroker

pytestmark = [pytest.mark.spark, pytest.mark.timeout(900)]

PATIENCE_S = 240.0
AWAY_S = 30.0
SHARED_MODULES = str(Path(__file__).parents[1])
WORDS = [f"word{number}" for number in range(12)]


class Drive:
    """The driver's process, from this side."""

    def __init__(self, *arguments: str) -> None:
        self.status: Status | None = None
        self.log: list[str] = []
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("driver.py")), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            process_group=0,
            env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, [SHARED_MODULES, os.getenv("PYTHONPATH")]))},
        )
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def command(self, decision: Decision) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(msgspec.json.encode(decision).decode() + "\n")
        self.process.stdin.flush()

    def finish(self) -> int:
        """Have it take in all there is, and end."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S)

    def kill_9(self) -> None:
        """Python, the JVM and all that belongs to them."""
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        self._reader.join()

    def close(self) -> None:
        if self.process.poll() is None:
            self.kill_9()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None and not pipe.closed:
                pipe.close()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self.status = msgspec.json.decode(line, type=Status)
            else:
                self.log.append(line)


class Story:
    """The pipeline's input, its driver and what is asked of it."""

    def __init__(
        self,
        cluster: EmbeddedCluster,
        folder: Path,
        eventually: Callable[..., object],
        broker: LocalBroker | None,
        jars: Sequence[Path],
    ) -> None:
        self.cluster, self.folder, self._eventually = cluster, folder, eventually
        self._broker, self._jars = broker, jars
        self.inbox = folder / "inbox"
        self.inbox.mkdir()
        self.lines: list[str] = []
        (folder / "address").write_bytes(pickle.dumps(cluster.address))
        self.drive = self.new_drive()

    def new_drive(self) -> Drive:
        topics = [] if self._broker is None else [f"kafka:story@{self.broker.address}", ",".join(map(str, self._jars))]
        return Drive(str(self.folder / "address"), str(self.inbox), str(self.folder / "run"), *topics)

    @property
    def broker(self) -> LocalBroker:
        """Skips the test if there is none."""
        return self._broker or pytest.skip("streams between operators are files here")

    def feed(self, files: int) -> None:
        """Each file is twenty lines of six words: more than a second of work for one executor."""
        for number in range(len(self.lines) // 20, len(self.lines) // 20 + files):
            lines = [" ".join(WORDS[(number + i * j) % len(WORDS)] for j in range(6)) for i in range(20)]
            (self.folder / "draft").write_text("\n".join(lines))
            (self.folder / "draft").rename(self.inbox / f"{number:05d}.txt")
            self.lines += lines

    def until(self, holds: Callable[[Status], bool], what: str) -> Status:
        def look() -> Status | None:
            assert self.drive.process.poll() is None, "".join(self.drive.log)
            status = self.drive.status
            return status if status is not None and holds(status) else None

        found = self._eventually(look, what, PATIENCE_S)
        assert isinstance(found, Status)
        return found

    def busy(self) -> None:
        """Have work on its way, and be in the middle of it."""
        self.feed(6)
        self.until(lambda status: status.waiting["split"] > 0, "work under way")

    def done(self, decision: Decision, holds: Callable[[Status], bool]) -> Status:
        """Decide in the middle of a batch, and wait until it is so."""
        self.busy()
        self.drive.command(decision)
        return self.until(lambda status: not status.settling and holds(status), decision.reason)


@pytest.fixture(scope="module", params=["files", pytest.param("topics", marks=pytest.mark.slow)])
def story(request, tmp_path_factory, eventually) -> Iterator[Story]:
    nodes = [Node("left", cores=8, memory="8g"), Node("right", cores=8, memory="8g")]
    with ExitStack() as ending:
        jars = request.getfixturevalue("connector") if request.param == "topics" else ()
        broker = ending.enter_context(LocalBroker()) if jars else None
        cluster = ending.enter_context(EmbeddedCluster(nodes))
        made = Story(cluster, tmp_path_factory.mktemp("story"), eventually, broker, jars)
        try:
            yield made
        finally:
            made.drive.close()


def serving(operator: str, executors: int) -> Callable[[Status], bool]:
    return lambda status: len(status.serving[operator]) == executors


def executor_process(executor_id: str, cluster: EmbeddedCluster) -> int:
    """The process of an executor of the newest application on `cluster`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
        except OSError:
            continue
        arguments = dict(pairwise(words))
        if arguments.get("--executor-id") == executor_id and str(cluster.logs.parent) in " ".join(words):
            found.append((arguments["--app-id"], int(folder.name)))
    return max(found)[1]


def test_it_starts(story):
    story.feed(4)
    story.until(lambda status: serving("split", 1)(status) and serving("count", 1)(status), "the first executors")


def test_pools_grow_in_the_middle_of_a_batch(story):
    story.done(Scale(pool="split", executors=2, reason="two to split"), serving("split", 2))
    status = story.done(Scale(pool="count", executors=2, reason="two to count"), serving("count", 2))
    assert sorted(status.serving["split"]) == [0, 1]


def test_a_substream_moves_in_the_middle_of_a_batch(story):
    owner = story.drive.status.substreams[0]
    moves = (Transfer((0,), owner, 1 - owner),)
    status = story.done(
        Move(operator="count", transfers=moves, reason="substream 0 to the other"),
        lambda s: s.substreams[0] == 1 - owner,
    )
    assert sorted(set(status.substreams)) == [0, 1]


def test_an_executor_is_killed_in_the_middle_of_a_batch(story):
    for operator in ("count", "split"):
        before = dict(story.drive.status.serving[operator])
        story.busy()
        os.kill(executor_process(before[1], story.cluster), signal.SIGKILL)
        story.until(
            lambda s, operator=operator, before=before: s.serving[operator].get(1, "") not in ("", before[1]),
            f"a replacement for an executor of {operator}",
        )
        assert story.drive.status.serving[operator][0] == before[0]


def test_a_pool_shrinks_in_the_middle_of_a_batch_and_the_others_are_left_alone(story):
    before = story.drive.status.serving
    status = story.done(
        Scale(pool="count", executors=1, leaving=(0,), reason="one leaves"),
        lambda s: list(s.serving["count"]) == [1],
    )
    assert set(status.substreams) == {1}
    assert status.serving["split"] == before["split"]
    assert status.serving["shout"] == before["shout"]


def test_a_node_dies_in_the_middle_of_a_batch(story):
    story.busy()
    os.kill(story.cluster.worker_pid("left"), signal.SIGKILL)

    def moved(status: Status) -> bool:
        alive = {node for nodes in status.nodes.values() for node in nodes.values()}
        return serving("split", 2)(status) and serving("count", 1)(status) and len(alive) == 1

    story.until(moved, "everyone on the other node")


def test_the_driver_dies_in_the_middle_of_a_batch_and_goes_on_with_its_plan(story):
    story.busy()
    revision = story.drive.status.revision
    story.drive.kill_9()
    story.drive.close()
    story.feed(2)
    story.drive = story.new_drive()
    status = story.until(lambda s: serving("split", 2)(s) and serving("count", 1)(s), "the plan of before")
    assert status.revision == revision
    assert list(status.serving["count"]) == [1]


def test_the_broker_dies_in_the_middle_of_a_batch_and_nothing_is_scaled_in_while_it_is_away(story):
    broker = story.broker
    story.busy()
    before = story.drive.status.serving["split"]
    broker.kill()
    killed_s = time.monotonic()
    story.until(lambda s: "split" in s.unknown, "a loop that does not know what arrives")
    story.drive.command(Scale(pool="split", executors=1, leaving=(0,), reason="one leaves split"))
    story.until(lambda s: any("was not measured" in why for why in s.refused), "a refusal to scale in")
    status = story.until(lambda s: time.monotonic() > killed_s + AWAY_S, "a broker that is away for long")
    assert status.serving["split"] == before
    broker.start()
    story.until(lambda s: not s.settling and list(s.serving["split"]) == [1], "the decision, once the load is known")


def test_all_results_are_those_of_a_batch_job(story):
    assert story.drive.finish() == 0, "".join(story.drive.log)
    words = Counter(word for line in story.lines for word in line.split())
    assert shouted(story.folder) == Counter({word.upper(): number for word, number in words.items()})
    assert counted(story.folder) == words


def shouted(folder: Path) -> Counter[str]:
    rows = pyarrow.parquet.read_table(folder / "run" / "results" / "shout").to_pylist()
    return Counter(row["word"] for row in rows)


def counted(folder: Path) -> dict[str, int]:
    """The newest count of each word. Counts only grow, so that an older one is never the larger."""
    rows = pyarrow.parquet.read_table(folder / "run" / "results" / "count").to_pylist()
    by_batch = sorted((int(row["batch"]), row["word"], row["count"]) for row in rows)
    newest: dict[str, int] = {}
    for _, word, number in by_batch:
        assert number > newest.get(word, 0)
        newest[word] = number
    return newest
