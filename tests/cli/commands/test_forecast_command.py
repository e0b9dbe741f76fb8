import json
import sys
from pathlib import Path

import numpy as np
import pytest

from rheostat.forecast import MODELS


@pytest.fixture
def trace(tmp_path: Path) -> Path:
    path = tmp_path / "load.csv"
    rates = 100 + 50 * np.sin(np.arange(200) / 8)
    path.write_text("time,value\n" + "\n".join(f"{second},{rate}" for second, rate in enumerate(rates)))
    return path


def test_every_model_is_scored_as_json(run, trace: Path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("sklearn")
    code, out, _ = run("forecast", str(trace), "--stride", "40", "--json")
    scores = {score["model"]: score for score in json.loads(out)}
    documented = {"mape", "wape", "bias", "pinball", "coverage", "fit_s"}
    assert code == 0
    assert {"basic", "linear", "fft", "ann", "forest", "best-fit", "holt-winters", "select"} <= scores.keys()
    assert all(documented <= score.keys() for score in scores.values())


def test_one_model_is_shown_as_a_table_and_a_picture(run, trace: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("matplotlib")
    picture = tmp_path / "forecast.png"
    code, out, _ = run("forecast", str(trace), "--model", "basic", "--horizon", "10", "--picture", str(picture))
    assert code == 0
    assert "basic" in out
    assert picture.stat().st_size > 10_000


def test_a_gap_in_the_file_is_filled_and_told(run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "gap.csv"
    seconds = [second for second in range(60) if second != 30]
    path.write_text("time,value\n" + "\n".join(f"{second},5" for second in seconds))
    code, out, _ = run("forecast", str(path), "--model", "basic", "--window", "20", "--horizon", "10", "--json")
    assert code == 0
    assert "gap.csv: 1 sample is missing after 29 s" in caplog.text
    assert json.loads(out)[0]["origins"] == 4  # 60 samples: the gap was filled


def test_one_of_several_columns_is_named(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "wide.csv"
    rows = [f"{1769860800000 + 60000 * minute},h,{minute % 7},0" for minute in range(60)]
    path.write_text("time,host,requests,errors\n" + "\n".join(rows))
    few = ("--model", "basic", "--window", "20", "--horizon", "10", "--json")
    code, out, _ = run("forecast", str(path), *few, "--column", "requests")
    assert (code, json.loads(out)[0]["origins"]) == (0, 4)
    code, _, err = run("forecast", str(path), *few)
    assert code == 2
    assert "name the column to use, as `column`, one of host, requests, errors" in err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("time,value\n0,1\n1,two\n", "two"),
        ("a,b\n1,2\n", "time"),
        ("time;value\n0;1\n", "comma"),
        ("time,value\n0,1\n1,2\n", "2 samples are too few"),
        ("time,value\n0,1\n1,2\n2,3\n1e11,4\n", "a timestamp far from the others"),
        ("time,value\n" + "\n".join(f"{second},1e200" for second in range(200)), "sample 0 is 1e+200"),
    ],
)
def test_an_invalid_file_is_reported_in_one_line(run, tmp_path: Path, text: str, message: str) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "bad.csv"
    path.write_text(text)
    code, _, err = run("forecast", str(path), "--model", "basic")
    assert code == 2
    assert err.startswith("error: ")
    assert message in err


def test_a_missing_file_and_an_unknown_model_are_reported_in_one_line(run, trace: Path, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    code, _, err = run("forecast", str(tmp_path / "none.csv"))
    assert (code, "none.csv" in err) == (2, True)
    code, _, err = run("forecast", str(trace), "--model", "lineal")
    assert (code, "did you mean 'linear'" in err) == (2, True)


@pytest.mark.parametrize(
    ("picture", "message"),
    [
        ("none/forecast.png", "an existing folder"),
        ("forecast.docx", "must end in .png, .svg or .pdf"),
        ("folder.png", "an existing folder"),
    ],
)
def test_a_picture_that_cannot_be_written_is_refused_before_the_work(  # type: ignore[no-untyped-def]
    run, trace: Path, tmp_path: Path, picture: str, message: str
) -> None:
    (tmp_path / "folder.png").mkdir()
    code, out, err = run("forecast", str(trace), "--model", "basic", "--picture", str(tmp_path / picture))
    assert (code, out) == (2, "")
    assert err.startswith("error: picture ")
    assert message in err


def test_without_matplotlib_a_picture_is_refused_before_the_work(  # type: ignore[no-untyped-def]
    run, trace: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    code, out, err = run("forecast", str(trace), "--picture", str(tmp_path / "forecast.png"))
    assert (code, out, err) == (2, "", "error: pictures need matplotlib: pip install 'rheostat[plot]'\n")


def test_the_table_fits_a_terminal_of_eighty_columns(run, trace: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # type: ignore[no-untyped-def]
    pytest.importorskip("sklearn")
    monkeypatch.setenv("COLUMNS", "80")
    _, out, _ = run("forecast", str(trace), "--stride", "40")
    assert "…" not in out
    assert all(word in out for word in ("seasonal-naive", "autoregression", "interval", "coverage", "fallbacks"))


def test_without_scikit_learn_the_other_models_are_compared(  # type: ignore[no-untyped-def]
    run, trace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    code, out, err = run("forecast", str(trace), "--stride", "40", "--json")
    assert code == 0
    assert {score["model"] for score in json.loads(out)} == MODELS.keys() - {"forest"}
    assert err == "skipped: the model forest needs scikit-learn: pip install 'rheostat[learn]'\n"
