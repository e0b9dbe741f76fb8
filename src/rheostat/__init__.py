"""Rheostat keeps PySpark streaming pipelines within a latency SLA on as few executors as possible.

The names below are the public ones. They are loaded when they are first used, so that `import rheostat` is quick. Only
the names under "spark" need PySpark.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rheostat.attachment import Attachment, attach
    from rheostat.capabilities import Capabilities
    from rheostat.decision import (
        Decision,
        Effect,
        Fuse,
        Hold,
        Location,
        Move,
        Place,
        Regroup,
        Scale,
        Split,
        Transfer,
    )
    from rheostat.errors import RheostatError
    from rheostat.experiments.scenario import read_scenario
    from rheostat.experiments.simulate import simulate
    from rheostat.journal import Journal
    from rheostat.loop.controller import Controller
    from rheostat.loop.options import LoopOptions
    from rheostat.loop.turn import Turn
    from rheostat.measure.measures import Measures, OperatorMeasures
    from rheostat.names import OperatorName, PoolName
    from rheostat.pipeline import Pipeline, StartOptions, run, start
    from rheostat.plan import Plan, PoolPlan
    from rheostat.plant import Plant
    from rheostat.policies.observation import Observation, PoolView
    from rheostat.policies.policy import Policy, PolicyOptions
    from rheostat.policies.registry import make_policy
    from rheostat.sla import SLA, Budget, ExecutorBounds, Goal
    from rheostat.snapshot import (
        Batch,
        ExecutorPhase,
        ExecutorState,
        Latency,
        NodeState,
        OperatorState,
        Snapshot,
        StreamState,
        SubstreamState,
    )
    from rheostat.spark.cluster.embedded import EmbeddedCluster
    from rheostat.spark.cluster.node import Node
    from rheostat.spark.kafka.stream_topics import KafkaStreams
    from rheostat.spark.kafka.topic import KafkaTopic
    from rheostat.spark.query.per_record.record_function import per_record
    from rheostat.spark.query.sinks import KafkaSink
    from rheostat.spark.query.user_functions import emits, final_rows
    from rheostat.spark.target import SparkTarget
    from rheostat.topology import Operator, Source, Topology

_HOMES = {
    "capabilities": ("Capabilities",),
    "decision": (
        "Decision", "Effect", "Fuse", "Hold", "Location", "Move", "Place", "Regroup", "Scale", "Split", "Transfer",
    ),
    "errors": ("RheostatError",),
    "experiments.scenario": ("read_scenario",),
    "experiments.simulate": ("simulate",),
    "journal": ("Journal",),
    "loop.controller": ("Controller",),
    "loop.options": ("LoopOptions",),
    "loop.turn": ("Turn",),
    "measure.measures": ("Measures", "OperatorMeasures"),
    "names": ("OperatorName", "PoolName"),
    "plan": ("Plan", "PoolPlan"),
    "plant": ("Plant",),
    "policies.observation": ("Observation", "PoolView"),
    "policies.policy": ("Policy", "PolicyOptions"),
    "policies.registry": ("make_policy",),
    "sla": ("SLA", "Budget", "ExecutorBounds", "Goal"),
    "snapshot": (
        "Batch", "ExecutorPhase", "ExecutorState", "Latency", "NodeState", "OperatorState", "Snapshot", "StreamState",
        "SubstreamState",
    ),
    "topology": ("Operator", "Source", "Topology"),
}  # fmt: skip
_SPARK_HOMES = {
    "attachment": ("Attachment", "attach"),
    "pipeline": ("Pipeline", "StartOptions", "run", "start"),
    "spark.cluster.embedded": ("EmbeddedCluster",),
    "spark.cluster.node": ("Node",),
    "spark.kafka.stream_topics": ("KafkaStreams",),
    "spark.kafka.topic": ("KafkaTopic",),
    "spark.query.sinks": ("KafkaSink",),
    "spark.query.user_functions": ("emits", "final_rows"),
    "spark.query.per_record.record_function": ("per_record",),
    "spark.target": ("SparkTarget",),
}
_HOME_OF = {name: home for homes in (_HOMES, _SPARK_HOMES) for home, names in homes.items() for name in names}

__all__ = [
    "SLA",
    "Attachment",
    "Batch",
    "Budget",
    "Capabilities",
    "Controller",
    "Decision",
    "Effect",
    "EmbeddedCluster",
    "ExecutorBounds",
    "ExecutorPhase",
    "ExecutorState",
    "Fuse",
    "Goal",
    "Hold",
    "Journal",
    "KafkaSink",
    "KafkaStreams",
    "KafkaTopic",
    "Latency",
    "Location",
    "LoopOptions",
    "Measures",
    "Move",
    "Node",
    "NodeState",
    "Observation",
    "Operator",
    "OperatorMeasures",
    "OperatorName",
    "OperatorState",
    "Pipeline",
    "Place",
    "Plan",
    "Plant",
    "Policy",
    "PolicyOptions",
    "PoolName",
    "PoolPlan",
    "PoolView",
    "Regroup",
    "RheostatError",
    "Scale",
    "Snapshot",
    "Source",
    "SparkTarget",
    "Split",
    "StartOptions",
    "StreamState",
    "SubstreamState",
    "Topology",
    "Transfer",
    "Turn",
    "attach",
    "emits",
    "final_rows",
    "make_policy",
    "per_record",
    "read_scenario",
    "run",
    "simulate",
    "start",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"module 'rheostat' has no attribute {name!r}")
    try:
        return getattr(import_module(f"rheostat.{_HOME_OF[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise ImportError(f"rheostat.{name} needs PySpark: pip install 'rheostat[spark]'") from error


def __dir__() -> list[str]:
    return __all__
