"""What Spark cannot do is refused with the name of the field, before anything starts."""

import pytest
from spark_scenarios import BASE, changed, scenario

from rheostat.errors import ConfigError
from rheostat.experiments.on_spark.refusals import check_scenario

BATCHES = 'queues = "batches"\nservice = { mean = "20ms", distribution = "fixed" }'


def test_a_chain_of_micro_batches_is_accepted_in_both_ways():
    check_scenario(scenario(), plain=False)
    check_scenario(scenario(), plain=True)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (BATCHES, 'service = { mean = "20ms" }', "operator 'parse': queues 'own', Spark has only 'batches'"),
        ('arrivals = "regular"', "scv = 0.5", "source 'records': scv 0.5"),
        (
            'arrivals = "regular"',
            'bursts = { factor = 2, calm = "5s", burst = "5s" }',
            "source 'records': bursts exist only on the simulator",
        ),
        ('inputs = ["records"]', 'inputs = ["records"]\nselectivity = 0.5', "operator 'parse': every record must make"),
        ('inputs = ["records"]', 'inputs = ["records"]\ngrouping = "random"', "operator 'parse': grouping 'random'"),
        ('inputs = ["records"]', 'inputs = ["records"]\ncapacity = 5', "operator 'parse': capacity exists only"),
        (
            'inputs = ["records"]',
            'inputs = ["records"]\nbatches = { trigger = "1s" }',
            "operator 'parse': batches: trigger exists only",
        ),
        (
            'inputs = ["records"]',
            'inputs = ["records"]\nbatches = { tasks = 8 }',
            "operator 'parse': batches: tasks needs a plain query",
        ),
        ("total = 4", "total = 4\nchange = [{ at = '5s', total = 3 }]", "budget: change exists only"),
        (
            "total = 4",
            "total = 4\n[[cluster.slow]]\noperator = 'parse'\nexecutor = 0\nspeed = 0.5",
            "cluster: slow exists only",
        ),
        (
            "[budget]",
            "[[sla]]\nlatency = '1s'\noperator = 'count'\n[budget]",
            "sla 1s over 10s at count: only the end-to-end SLA",
        ),
    ],
)
def test_what_exists_only_on_the_simulator_is_refused(old, new, message):
    with pytest.raises(ConfigError) as error:
        check_scenario(changed(old, new), plain=False)
    assert str(error.value).startswith("scenario 'tiny' cannot run on Spark: ")
    assert message in str(error.value)


def test_all_refused_fields_are_named_at_once():
    text = BASE.replace('arrivals = "regular"', "scv = 0.5") + "[cluster]\nodd_share = 0.5\n"
    with pytest.raises(ConfigError, match=r"scv 0.5 .*; cluster: odd_share"):
        check_scenario(scenario(text), plain=False)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('inputs = ["parse"]', 'inputs = ["records"]', "needs one source and a chain"),
        ('inputs = ["records"]', 'inputs = ["records"]\nkey = "word"', "can have one keyed operator, not parse, count"),
        ('[[sla]]\nlatency = "8s"\nwindow = "10s"', "", "needs an end-to-end SLA"),
        ('inputs = ["records"]', 'inputs = ["records"]\nstandby = 1', "leave out `standby` of parse"),
    ],
)
def test_a_plain_query_is_refused_more(old, new, message):
    check_scenario(changed(old, new), plain=False)
    with pytest.raises(ConfigError, match=message):
        check_scenario(changed(old, new), plain=True)


def test_the_times_of_the_simulated_plant_are_not_refused():
    check_scenario(scenario(BASE + "[cluster]\nstart = '9s'\nwarm_up = '3s'\nmove_delay = '1s'\n"), plain=True)
