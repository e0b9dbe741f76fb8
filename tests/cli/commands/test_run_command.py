from pathlib import Path


def test_an_application_is_checked_before_spark_starts(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "app.py"
    path.write_text(
        "from rheostat.topology import Operator, Source, Topology\n"
        "topology = Topology('t', [Source('in'), Operator('work', inputs='in')])\n"
    )
    for mistake, message in [
        (["--policy", "drss"], "did you mean 'drs'"),
        (["-o", "high=2"], "'high'"),
        (["--period", "soon"], "--period 'soon'"),
        (["--for", "0s"], "--for '0s'"),
        (["--master", "here"], "'here' is not a Spark master"),
    ]:
        code, _, err = run("run", str(path), "--sla", "2s/10s", *mistake)
        assert (code, message in err) == (2, True)
