from pathlib import Path

import numpy as np
import pytest

from rheostat.experiments.replicate import Mean
from rheostat.experiments.reproduce.catalogue import catalogue
from rheostat.experiments.reproduce.pasps import applications, predictors
from rheostat.experiments.reproduce.pasps.applications import DNS, LOGS, RAW_TWITTER, TWITTER, WIDE, PaspsApplication
from rheostat.experiments.reproduce.pasps.loads import INPUTS
from rheostat.experiments.reproduce.pasps.metrics import NAMES, Metrics, columns, rows
from rheostat.experiments.reproduce.pasps.predictors import TABLE_2, TABLE_6, TABLE_7, TABLE_8
from rheostat.experiments.reproduce.reproduction import Effort
from rheostat.forecast import Forecaster, make_model
from rheostat.forecast.rolling import roll

FOUND = Metrics(*(Mean(value, None) for value in (0.5, 0.1, 1.0, 300.0, 0.2, 0.3)))


def test_tables_2_to_8_can_be_run() -> None:
    assert [each.name for each in catalogue().find("pasps")] == [f"pasps-table{number}" for number in range(2, 9)]


@pytest.mark.parametrize(
    ("name", "table", "within"),
    [("twitter", TABLE_2, 0.05), ("raw twitter", TABLE_6, 0.05), ("dns", TABLE_7, 0.05), ("logs", TABLE_8, 0.05)],
)
def test_generated_inputs_are_as_hard_to_forecast_as_the_papers(
    name: str, table: dict[str, tuple[float, ...]], within: float
) -> None:
    """By the error that the paper prints for Basic, which is nothing but how much an interval differs from the last."""
    rates = INPUTS[name].rates(2000, Effort())
    assert rates.max() == 1
    assert rates.min() >= 0
    scores = roll(Forecaster(make_model("basic")), rates).scores()
    assert scores.interval_mape == pytest.approx(table["Basic"][4], abs=within)


def test_one_replica_of_eight_can_process_about_a_third_of_the_generated_twitter_stream() -> None:
    rates = INPUTS["twitter"].rates(2000, Effort())
    assert (1 / 8) / rates.mean() == pytest.approx(0.331, abs=0.03)


def test_a_recorded_trace_takes_the_place_of_a_generated_input(tmp_path: Path) -> None:
    lines = "\n".join(f"{5 * second},{second}" for second in range(101))
    (tmp_path / "pa-sps-poisson.csv").write_text(f"time,value\n{lines}\n")
    rates = INPUTS["twitter"].rates(50, Effort(traces=str(tmp_path)))
    assert rates == pytest.approx(np.arange(50) / 49)  # a row is a second, whatever the file's own step


@pytest.mark.parametrize(("app", "r_over"), [(TWITTER, 32), (RAW_TWITTER, 32), (DNS, 12), (LOGS, 32), (WIDE, 40)])
def test_applications_have_the_papers_over_provisioned_replicas(app: PaspsApplication, r_over: int) -> None:
    scenario = app.scenario(Effort(quick=True))
    assert app.r_over == r_over
    assert scenario.goal.budget.total == r_over
    peak = scenario.model.source("input").load.peak(scenario.duration_s)
    assert peak * app.service_s == pytest.approx(app.replicas)


def test_a_row_has_the_papers_number_next_to_ours() -> None:
    assert columns("system", 1) == ("system", "saved resources: paper", "saved resources: here")
    assert len(columns("system")) == 1 + 2 * len(NAMES)
    assert rows({"one": (0.4, 0.2)}, {"one": FOUND, "two": FOUND}, 2) == (
        ("one", 0.4, FOUND.saved, 0.2, FOUND.degradation),
        ("two", None, FOUND.saved, None, FOUND.degradation),
    )


def test_a_table_is_made_and_its_claims_follow_from_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(applications, "QUICK_S", 150)
    monkeypatch.setattr(predictors, "PREDICTORS", {"LR": "linear", "Basic": "basic"})
    monkeypatch.setattr(predictors, "OTHERS", {})
    printed = {name: TABLE_2[name] for name in ("LR", "Basic")}
    shares: list[float] = []
    result = predictors.run(TWITTER, printed, Effort(seeds=1, quick=True), shares.append)
    assert [row[0] for row in result.rows] == ["LR", "Basic"]
    assert shares == [0.5, 1.0]
    here = {str(row[0]): row[8] for row in result.rows}
    quickest = min(here, key=lambda name: here[name].mean)  # type: ignore[union-attr]
    claim = next(claim for claim in result.claims if "has the lowest latency of" in claim.text)
    assert (claim.text, claim.holds) == ("LR has the lowest latency of the five", quickest == "LR")
