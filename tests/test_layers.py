"""DESIGN's arrows: who may import whom."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "rheostat"

# Each part of the package and the parts below it that it may know.
VOCABULARY = {
    "errors", "duration", "filelock", "graph", "names", "topology", "chain", "sla", "snapshot", "decision", "describe",
    "capabilities", "substream_assignment", "plan", "clock", "plant", "jsonfile", "timestamps",
    "topology_shape",
}  # fmt: skip
PURE = {"queueing", "forecast", "grouping", "placement", "measure"}
LOAD = {"load"}
POLICIES = {"policies"}
LOOP = {"loop", "journal", "explain", "replay", "testing"}
PLANTS = {"sim", "spark"}
WORKLOADS = {"workloads"}
TOP = {
    "experiments", "cli", "web", "serve", "attachment", "attachment_view", "pipeline", "run_outcome", "stop_signals",
}  # fmt: skip

MAY_KNOW: dict[str, set[str]] = {
    **dict.fromkeys(VOCABULARY | LOAD, VOCABULARY),
    **dict.fromkeys(PURE, VOCABULARY),
    **dict.fromkeys(POLICIES, VOCABULARY | PURE),
    **dict.fromkeys(LOOP, VOCABULARY | PURE | POLICIES | LOOP),
    **dict.fromkeys(PLANTS, VOCABULARY | PURE | LOAD),
    **{part: VOCABULARY | PURE | LOAD | {"spark"} for part in WORKLOADS},
    **dict.fromkeys(TOP, VOCABULARY | PURE | LOAD | POLICIES | LOOP | PLANTS | WORKLOADS | TOP),
}
EVERYTHING = set(MAY_KNOW)

# The parts of the Spark plant: each knows only those before it. Observing and acting do not know each other.
SPARK = (
    "processes", "install", "cluster", "master_url", "session", "target", "kafka", "state", "streams", "query",
    "observe", "act", "plant", "attach", "wiring", "doctor",
)  # fmt: skip

# Parts of the acting side that decide without asking Spark anything.
PURE_ACTING = (
    "instructions", "cluster_view", "executor_numbers", "draining", "pool_sites", "plan_progress", "reconcile",
    "starting_size",
)  # fmt: skip


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def part_of(path: Path) -> str:
    """The file or folder directly below the package that `path` belongs to."""
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(path: Path, package: str = "rheostat") -> Iterator[str]:
    """The parts of `package` that a module imports, anywhere in it."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import in line {node.lineno}"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            if name.startswith(f"{package}."):
                yield name.removeprefix(f"{package}.").split(".")[0]


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_knows_only_what_lies_below_it(path: Path) -> None:
    part = part_of(path)
    if part == "__init__":
        return
    assert part in EVERYTHING, f"{part!r} has no place among the layers: give it one"
    for known in imports(path):
        if known != part:
            assert known in MAY_KNOW[part], f"{part} must not know {known}"


@pytest.mark.parametrize("path", sorted((PACKAGE / "spark").rglob("*.py")), ids=lambda path: path.stem)
def test_the_parts_of_the_spark_plant_build_on_each_other(path: Path) -> None:
    part = path.relative_to(PACKAGE / "spark").parts[0].removesuffix(".py")
    if part == "__init__":
        return
    below = set(SPARK[: SPARK.index(part) + 1])
    assert set(imports(path, "rheostat.spark")) <= below


@pytest.mark.parametrize(
    "name", [*(f"act/{name}" for name in PURE_ACTING), "state/executor_book", "state/query_groups"]
)
def test_what_decides_on_executors_asks_spark_nothing(name: str) -> None:
    source = (PACKAGE / "spark" / f"{name}.py").read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(source)):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        for imported in names:
            assert not imported.startswith(("pyspark", "py4j", "rheostat.spark.act.actuators")), f"{name}: {imported}"
            assert imported != "rheostat.spark.state.stage_placement"


@pytest.mark.parametrize(("side", "other"), [("observe", "act"), ("act", "observe")])
def test_observing_and_acting_on_spark_do_not_know_each_other(side: str, other: str) -> None:
    paths = list((PACKAGE / "spark" / side).rglob("*.py"))
    assert paths
    for path in paths:
        assert other not in imports(path, "rheostat.spark"), f"{path.relative_to(PACKAGE)} must not know {other}"


def test_the_plants_know_neither_each_other_nor_a_policy() -> None:
    assert MAY_KNOW["sim"].isdisjoint({"spark", "policies", "loop"})
    assert MAY_KNOW["spark"].isdisjoint({"sim", "policies", "loop"})


def test_the_rule_would_catch_a_policy_that_reaches_for_spark(tmp_path: Path) -> None:
    module = tmp_path / "bad.py"
    module.write_text("def f():\n    from rheostat.spark import cluster\n    import rheostat.sim.plant\n")
    assert set(imports(module)) == {"spark", "sim"}
    assert not set(imports(module)) & MAY_KNOW["policies"]
