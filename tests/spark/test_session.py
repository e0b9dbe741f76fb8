import os
import sys

import pytest
from pyspark import SparkConf, SparkContext

from rheostat.errors import ConfigError, PlantError
from rheostat.spark.act.actuators.dynamic_allocation import stop_dynamic_allocation
from rheostat.spark.cluster.address import ClusterAddress
from rheostat.spark.install import jvm_helpers as helpers
from rheostat.spark.install.jvm_extras import JvmExtras
from rheostat.spark.session import build_session, default_settings, drop_unused_defaults

pytestmark = pytest.mark.spark


@pytest.fixture
def address(tmp_path) -> ClusterAddress:
    return ClusterAddress("spark://127.0.0.1:7077", "http://127.0.0.1:8080", tmp_path, "hush", JvmExtras())


def test_what_the_user_set_is_not_set_again(address, tmp_path):
    extras = JvmExtras(tmp_path / "helpers.jar", tmp_path / "classes.jsa")
    plain = default_settings({"spark.master": address.master_url}, address, extras)
    explicit = dict.fromkeys(plain, "mine") | {"spark.master": address.master_url}
    explicit["spark.dynamicAllocation.enabled"] = "true"
    assert len(plain) > 10
    assert default_settings(explicit, address, extras) == {}


def test_pools_are_prepared_unless_the_user_or_the_master_has_none():
    def has_pools(master: str, **explicit: str) -> bool:
        settings = {"spark.master": master} | {k.replace("_", "."): v for k, v in explicit.items()}
        return "spark.dynamicAllocation.minExecutors" in default_settings(settings, None, JvmExtras())

    assert has_pools("spark://somewhere:7077")
    assert has_pools("yarn", spark_dynamicAllocation_enabled="true")
    assert not has_pools("yarn", spark_dynamicAllocation_enabled="false")
    assert not has_pools("local[2]")


def test_local_files_are_changed_only_where_all_executors_are_on_this_machine(address, tmp_path):
    key, extras = "spark.hadoop.fs.AbstractFileSystem.file.impl", JvmExtras(helpers=tmp_path / "helpers.jar")
    assert default_settings({"spark.master": "local[2]"}, None, extras)[key] == helpers.ABSTRACT_FILE_SYSTEM
    assert default_settings({"spark.master": "x"}, address, extras)[key] == helpers.ABSTRACT_FILE_SYSTEM
    assert default_settings({"spark.master": "local[2]"}, None, JvmExtras())[key].endswith("RawLocalFs")
    assert key not in default_settings({"spark.master": "k8s://https://somewhere"}, None, extras)


def test_two_masters_are_refused_by_name(address):
    with pytest.raises(ConfigError, match=r"local\[2\], spark://127.0.0.1:7077"):
        build_session("twice", master="local[2]", cluster=address)


def test_spark_connect_is_refused_with_the_reason(monkeypatch):
    monkeypatch.setenv("SPARK_REMOTE", "sc://localhost")
    with pytest.raises(PlantError, match="Spark Connect has no control of executors"):
        build_session("remote", master="local[1]")


def test_a_second_session_is_refused_with_the_name_of_the_first(spark):
    with pytest.raises(PlantError, match="session 'tests' is active"):
        build_session("second", master="local[1]")


def test_executors_run_the_drivers_python(spark):
    def interpreter(batches):
        import pyarrow

        for _ in batches:
            yield pyarrow.record_batch([[sys.executable]], names=["path"])

    rows = spark.range(1, numPartitions=1).mapInArrow(interpreter, "path string").collect()
    assert [row.path for row in rows] == [sys.executable]


def test_the_settings_reach_the_running_application(spark, cluster):
    conf = SparkConf(_jconf=spark.sparkContext._jsc.sc().conf())
    assert conf.get("spark.executor.memory") == "512m"
    assert conf.get("spark.locality.wait.process") == "60s"
    assert conf.get("spark.master") == cluster.master_url
    assert spark.conf.get("spark.sql.streaming.stateStore.providerClass").endswith("RocksDBStateStoreProvider")


def test_executors_are_not_sent_the_defaults_of_yarn_and_mapreduce(spark):
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    assert configuration.get("yarn.resourcemanager.address") is None
    assert configuration.get("mapreduce.framework.name") is None
    assert configuration.get("fs.defaultFS") == "file:///"
    fresh = spark._jvm.org.apache.hadoop.mapred.JobConf()
    assert configuration.size() < fresh.size() / 2


def test_what_the_user_set_of_yarn_and_mapreduce_stays(spark):
    configuration = spark.sparkContext._jsc.hadoopConfiguration()
    configuration.set("mapreduce.job.queuename", "mine")
    try:
        drop_unused_defaults(spark)
        assert configuration.get("mapreduce.job.queuename") == "mine"
    finally:
        configuration.unset("mapreduce.job.queuename")


def test_stopping_sparks_own_allocation_is_told_apart_from_having_none():
    class JavaText(str):
        def toString(self) -> str:
            return str(self)

    class Nothing:
        def isEmpty(self) -> bool:
            return True

    class Manager:
        stopped = False

        def isEmpty(self) -> bool:
            return False

        def get(self):
            return self

        def numExecutorsTargetPerResourceProfileId(self) -> str:
            return JavaText("HashMap(0 -> 3, 2 -> 1)")

        def stop(self) -> None:
            self.stopped = True

    manager = Manager()
    assert stop_dynamic_allocation(_session_with(Nothing())) is None
    assert stop_dynamic_allocation(_session_with(manager)) == {0: 3, 2: 1}
    assert manager.stopped


def _session_with(manager):
    class Fake:
        @property
        def sparkContext(self):
            return self

        @property
        def _jsc(self):
            return self

        def sc(self):
            return self

        def executorAllocationManager(self):
            return manager

    return Fake()


def test_no_secret_is_left_in_the_environment_of_this_process(spark, cluster):
    assert SparkContext._active_spark_context is not None
    assert cluster.address.secret not in "\n".join(os.environ.values())
