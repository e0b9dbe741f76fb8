import pytest

from rheostat.spark.act.actuators.warm_up import QUERY_PREFIX, WarmUpQuery, WorkKind

pytestmark = [pytest.mark.spark, pytest.mark.slow, pytest.mark.timeout(600)]


@pytest.mark.parametrize("kind", [WorkKind(), WorkKind(stateful=True, python=True)])
def test_a_warm_up_runs_on_every_slot_of_the_given_executors_and_nowhere_else(pair, kind, tmp_path):
    chosen = pair.state.book.members()[1].executor
    before = tasks_of(pair)
    WarmUpQuery(pair.spark, pair.profile(), kind, str(tmp_path)).run([chosen])
    ran = {executor: count - before[executor] for executor, count in tasks_of(pair).items()}
    assert {executor for executor, count in ran.items() if count} == {chosen.id}
    assert list(tmp_path.iterdir()) == []
    assert [query for query in pair.spark.streams.active if query.name.startswith(QUERY_PREFIX)] == []


def tasks_of(pair):
    """How many tasks each executor has had so far."""
    rows = pair.spark.sparkContext._jsc.sc().statusStore().executorList(True)
    return {rows.apply(i).id(): rows.apply(i).totalTasks() for i in range(rows.size())}
