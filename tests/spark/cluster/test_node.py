import pytest

from rheostat.errors import ConfigError
from rheostat.spark.cluster.node import Node, check_distinct, memory_mb, nodes_alike, resource_of


def test_a_node_offers_a_resource_for_its_name_and_each_label_once():
    node = Node("left", labels=("big", "ssd", "left"))
    assert node.resources == ("node_left", "node_big", "node_ssd")


def test_nodes_alike_are_numbered():
    assert [node.name for node in nodes_alike(3, cores=1, memory="512m")] == ["node-1", "node-2", "node-3"]


@pytest.mark.parametrize("name", ["", "1st", "a b", "a.b", "über", "a/b", "%s"])
def test_a_name_that_spark_settings_cannot_hold_is_refused(name):
    with pytest.raises(ConfigError, match="not a node name or label"):
        Node(name)
    with pytest.raises(ConfigError, match="not a node name or label"):
        resource_of(name)


@pytest.mark.parametrize("cores", [0, -1, 1.5, True])
def test_cores_that_are_no_positive_whole_number_are_refused_with_their_value(cores):
    with pytest.raises(ConfigError, match=f"{cores!r} cores"):
        Node("a", cores=cores)


@pytest.mark.parametrize(("text", "megabytes"), [("512m", 512), ("2g", 2048), ("2GB", 2048), (" 1g ", 1024)])
def test_sizes_are_read_as_spark_writes_them(text, megabytes):
    assert memory_mb(text, "memory") == megabytes


@pytest.mark.parametrize("text", ["", "2", "2t", "-1g", "0m", "1.5g"])
def test_a_size_spark_would_not_take_is_refused_with_its_text(text):
    with pytest.raises(ConfigError, match=repr(text)):
        Node("a", memory=text)


def test_two_nodes_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="two nodes are named 'a'"):
        check_distinct([Node("a"), Node("b"), Node("a")])


def test_no_nodes_are_refused():
    with pytest.raises(ConfigError, match="cluster of 0 nodes"):
        nodes_alike(0)
