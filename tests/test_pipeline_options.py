"""The options of `start` and `run`: typed and named alike everywhere."""

import inspect
from typing import get_type_hints

from rheostat.pipeline import StartOptions, run, start


def test_start_and_run_have_the_same_named_options():
    started, ran = (dict(inspect.signature(function).parameters) for function in (start, run))
    assert ran.pop("for_").default is None
    assert ran == started
    assert all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in started.values())


def test_the_options_of_topology_start_are_those_of_start():
    hints = get_type_hints(start)
    del hints["topology"], hints["return"]
    assert get_type_hints(StartOptions) == hints
