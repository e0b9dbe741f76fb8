"""Rheostat keeps PySpark streaming pipelines within a latency SLA on as few executors as possible.

The names below are the public ones. They are loaded when they are first used, so that `import rheostat` is quick
and needs neither Spark nor numba.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheostat.attachment import Attachment, attach
    from rheostat.decision import Decision, Effect, Fuse, Hold, Move, Place, Regroup, Scale, Split, Transfer
    from rheostat.errors import RheostatError
    from rheostat.journal import Journal
    from rheostat.loop.controller import Controller
    from rheostat.loop.options import LoopOptions
    from rheostat.pipeline import Running, Topology, run, start
    from rheostat.plan import Plan
    from rheostat.policies.observation import Observation, PoolView
    from rheostat.policies.policy import Policy, PolicyOptions
    from rheostat.sla import SLA, Budget, Goal
    from rheostat.snapshot import Snapshot
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import Node
    from rheostat.spark.query.per_record.record_function import per_record
    from rheostat.topology import Operator, Source

_HOMES = {
    "attachment": ("Attachment", "attach"),
    "decision": ("Decision", "Effect", "Fuse", "Hold", "Move", "Transfer", "Place", "Regroup", "Scale", "Split"),
    "errors": ("RheostatError",),
    "journal": ("Journal",),
    "loop.controller": ("Controller",),
    "loop.options": ("LoopOptions",),
    "plan": ("Plan",),
    "policies.observation": ("Observation", "PoolView"),
    "policies.policy": ("Policy", "PolicyOptions"),
    "pipeline": ("Running", "Topology", "run", "start"),
    "sla": ("SLA", "Budget", "Goal"),
    "snapshot": ("Snapshot",),
    "spark.cluster.embedded": ("EmbeddedCluster",),
    "spark.cluster.node": ("Node",),
    "spark.query.per_record.record_function": ("per_record",),
    "topology": ("Operator", "Source"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "SLA",
    "Attachment",
    "Budget",
    "Controller",
    "Decision",
    "Effect",
    "EmbeddedCluster",
    "Fuse",
    "Goal",
    "Hold",
    "Journal",
    "LoopOptions",
    "Move",
    "Node",
    "Observation",
    "Operator",
    "Place",
    "Plan",
    "Policy",
    "PolicyOptions",
    "PoolView",
    "Regroup",
    "RheostatError",
    "Running",
    "Scale",
    "Snapshot",
    "Source",
    "Split",
    "Topology",
    "Transfer",
    "attach",
    "per_record",
    "run",
    "start",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'rheostat' has no attribute {name!r}")
    return getattr(import_module(f"rheostat.{_HOME_OF[name]}"), name)


def __dir__() -> list[str]:
    return __all__
