"""The options of `start` and `run`: typed and named alike everywhere."""

import inspect
from typing import Unpack, get_type_hints

import rheostat
from rheostat.pipeline import StartOptions, run, source_interval_s, start
from rheostat.sla import SLA
from rheostat.topology import Topology


def test_start_names_every_option():
    assert all(each.kind is not inspect.Parameter.VAR_KEYWORD for each in inspect.signature(start).parameters.values())


def test_run_takes_the_options_of_start_and_how_long_to_run():
    for function in (run, Topology.run):
        hints = get_type_hints(function, {**vars(inspect.getmodule(function)), "rheostat": rheostat})
        assert hints["options"] == Unpack[StartOptions]
        assert inspect.signature(function).parameters["for_"].default is None


def test_the_options_of_topology_start_are_those_of_start():
    hints = get_type_hints(start)
    del hints["topology"], hints["return"]
    assert get_type_hints(StartOptions) == hints


def test_sources_wait_for_a_small_part_of_the_strictest_sla():
    assert source_interval_s([]) == 0.5
    assert source_interval_s([SLA("30s")]) == 0.5
    assert source_interval_s([SLA("30s"), SLA("1s", operator="any")]) == 0.1
