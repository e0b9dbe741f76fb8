"""A scenario that takes little time to simulate, for tests of comparisons."""

from pathlib import Path

TEXT = """
name = "{name}"
duration = "{duration}"
period = "2s"

[[source]]
name = "records"
load = {{ shape = "step", steps = [[0, 20], ["20s", {peak}], ["40s", 20]] }}
arrivals = "regular"

[[operator]]
name = "work"
inputs = ["records"]
executors = 2
queues = "batches"
batches = {{ fixed = "200ms", per_task = "10ms" }}
service = {{ mean = "20ms", distribution = "exponential" }}

[[sla]]
latency = "2s"
window = "10s"

[budget]
total = 4

[cluster]
start = "2s"
"""


def write_small(folder: Path, name: str = "small", *, peak: int = 60, duration: str = "1m") -> Path:
    """The scenario as a file; the load has one step up and one down."""
    path = folder / f"{name}.toml"
    path.write_text(TEXT.format(name=name, peak=peak, duration=duration))
    return path
