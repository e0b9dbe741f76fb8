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
        (["--executors", "many"], "--executors 'many' is not a number of executors"),
        (["--executors", "wrok=2"], "did you mean 'work'"),
        (["--min-executors", "work=0"], "--min-executors 'work=0'"),
        (["--min-executors", "3", "--max-executors", "2"], "below the 3"),
        (["--conf", "spark.executor.memory"], "--conf 'spark.executor.memory' must be written as NAME=VALUE"),
        (["--sink", "wrok=out"], "did you mean 'work'"),
        (["--sink", "work=csv:"], "write e.g. csv:results/work"),
        (["--dashboard", "127.0.0.1:many"], "dashboard '127.0.0.1:many' is no address"),
        (["--webhook", "file:///etc/passwd"], "webhook 'file:///etc/passwd' is no address"),
        (["--log-format", "xml"], "log_format"),
        (["--config", "none.toml"], "'none.toml' cannot be read"),
    ]:
        code, _, err = run("run", str(path), "--sla", "2s/10s", *mistake)
        assert (code, message in err) == (2, True)


def test_a_run_needs_an_application_and_an_sla(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("run")
    assert (code, "the run has no application: give APP.py" in err) == (2, True)
    code, _, err = run("run", "app.py")
    assert (code, "the run has no SLA: give --sla" in err) == (2, True)


def test_a_file_names_the_application_and_the_sla(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    (tmp_path / "run.toml").write_text('app = "none.py"\nsla = "5s"\n')
    code, _, err = run("run", "--config", str(tmp_path / "run.toml"))
    assert (code, "application 'none.py' does not exist" in err) == (2, True)


def test_an_application_is_run_by_name_on_generated_input_or_files(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    for arguments, message in [
        (["wordcuont"], "there is no application 'wordcuont'; did you mean 'wordcount'?"),
        (["wordcount", "--input", str(tmp_path / "none")], "none' is no file and no folder with files"),
        (["wordcount", "--input", str(tmp_path)], "is no file and no folder with files"),
        (["wordcount", "--rate", "-1"], "rate -1"),
        (["app.py", "--sla", "2s", "--rate", "5"], "--rate is for applications that are run by name; 'app.py'"),
    ]:
        code, _, err = run("run", *arguments, "--dir", str(tmp_path / "run"))
        assert (code, message in err) == (2, True), err
