"""`rheostat place`: a graph file in, a placement out."""

import json
import sys

import pytest

from rheostat import cli

GRAPH = {
    "tasks": [
        {"name": "read", "cpu": 0.2, "memory": 0.1, "io": 0.3},
        {"name": "split", "cpu": 0.4, "memory": 0.2, "io": 0.1},
        {"name": "count", "cpu": 0.3, "memory": 0.4, "io": 0.1},
        {"name": "write", "cpu": 0.2, "memory": 0.1, "io": 0.3},
    ],
    "edges": [
        {"from": "read", "to": "split", "rate": 100},
        {"from": "split", "to": "count", "rate": 800},
        {"from": "count", "to": "write", "rate": 50},
    ],
    "nodes": [{"name": "left", "cpu": 1, "memory": 1, "io": 1}, {"name": "right", "cpu": 1, "memory": 1, "io": 1}],
}


@pytest.fixture
def place(tmp_path, monkeypatch, capsys):
    """Runs the command on a graph; returns exit code, output and errors."""

    def run(graph, *arguments):
        file = tmp_path / "graph.json"
        file.write_text(graph if isinstance(graph, str) else json.dumps(graph))
        monkeypatch.setattr(sys, "argv", ["rheostat", "place", str(file), *arguments])
        with pytest.raises(SystemExit) as end:
            cli.main()
        printed = capsys.readouterr()
        return end.value.code or 0, printed.out, printed.err

    return run


def changed(**parts):
    return {**GRAPH, **parts}


def test_it_says_where_each_task_goes_and_how_good_that_is(place):
    code, out, _ = place(GRAPH, "--json")
    found = json.loads(out)
    assert code == 0
    assert found["assignment"]["split"]["node"] == found["assignment"]["count"]["node"]
    assert set(found["assignment"]) == {"read", "split", "count", "write"}
    assert found["nodes_used"] == 2
    assert found["cut_share"] < 0.2
    assert set(found["utilisation"]) == {"left", "right"}
    assert found["resources"]["left"]["cpu"] <= 1


def test_for_people_it_prints_a_line_for_each_node(place):
    _, out, _ = place(GRAPH)
    assert "left" in out
    assert "2 of 2 nodes in use" in out


def test_equal_nodes_can_be_given_by_their_number(place):
    _, out, _ = place({k: v for k, v in GRAPH.items() if k != "nodes"}, "--nodes", "3", "--json")
    assert list(json.loads(out)["utilisation"]) == ["node-1", "node-2", "node-3"]
    _, out, _ = place(GRAPH, "--nodes", "3", "--json")
    assert list(json.loads(out)["utilisation"]) == ["node-1", "node-2", "node-3"]


def test_equal_nodes_that_would_stay_empty_are_left_out(place):
    tasks = {"tasks": GRAPH["tasks"], "edges": GRAPH["edges"]}
    code, out, err = place(tasks, "--nodes", "1000000", "--json")
    assert code == 0
    assert json.loads(out) == json.loads(place(tasks, "--nodes", "4", "--json")[1])
    assert err == "only 4 of 1000000 equal nodes considered: one for each task\n"


def test_the_algorithm_can_be_chosen(place):
    _, out, _ = place(GRAPH, "--algorithm", "even", "--json")
    assert [spot["node"] for spot in json.loads(out)["assignment"].values()] == ["left", "right", "left", "right"]


@pytest.mark.parametrize(
    ("graph", "arguments", "message"),
    [
        (changed(tasks=[*GRAPH["tasks"], {"name": "giant", "cpu": 1.5}]), (), "no node can hold task 'giant'"),
        (changed(edges=[{"from": "read", "to": "spilt", "rate": 1}]), (), "no task 'spilt'; did you mean 'split'?"),
        (changed(edges=[{"from": "reed", "to": "split", "rate": 1}]), (), "no task 'reed'; did you mean 'read'?"),
        (changed(nodes=[]), (), "the file has no nodes"),
        (changed(nodes=[GRAPH["nodes"][0]]), (), "no room is left for task"),
        (changed(speed=3), (), "unknown field 'speed'"),
        ("not json", (), "graph.json"),
        (GRAPH, ("--algorithm", "ra-strem"), "did you mean 'ra-stream'?"),
    ],
)
def test_a_mistake_ends_with_a_sentence_and_exit_code_2(place, graph, arguments, message):
    code, _, err = place(graph, *arguments)
    assert code == 2
    assert message in err
    assert "Traceback" not in err


def test_a_file_that_does_not_exist_is_named(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["rheostat", "place", "nowhere.json"])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    assert "nowhere.json" in capsys.readouterr().err


def test_what_overflows_is_null_in_json_and_no_word_that_json_does_not_have(place):
    code, out, _ = place(changed(edges=[{"from": "read", "to": "split", "rate": 1e308}]), "--json")
    assert code == 0
    assert json.loads(out, parse_constant=pytest.fail)["balance"] is None
