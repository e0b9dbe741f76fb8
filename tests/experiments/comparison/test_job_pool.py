import os
from typing import Any

import pytest

from rheostat.errors import ConfigError, RheostatError
from rheostat.experiments.comparison.job_pool import JobFailure, run_jobs


class Answers:
    def run(self) -> Any:
        return 42


class Fails:
    def run(self) -> Any:
        raise ConfigError("seeds 0 must be at least 1")


class Dies:
    def run(self) -> Any:
        os._exit(3)


def outcomes(*jobs: Any, processes: int) -> list[Any]:
    return [outcome for _, outcome in run_jobs(jobs, processes)]


def test_a_job_that_raises_does_not_end_the_others() -> None:
    failure = JobFailure("seeds 0 must be at least 1")
    assert outcomes(Fails(), Answers(), processes=1) == [failure, 42]
    assert set(outcomes(Fails(), Answers(), processes=2)) == {failure, 42}


def test_a_process_that_dies_ends_the_comparison_with_advice() -> None:
    with pytest.raises(RheostatError, match=r"ended abruptly.*the same command resumes"):
        outcomes(Dies(), Answers(), processes=2)
