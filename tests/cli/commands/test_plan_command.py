import json
from pathlib import Path


def test_a_plan_is_made_from_a_file(run, tmp_path: Path) -> None:  # type: ignore[no-untyped-def]
    file = tmp_path / "net.json"
    file.write_text(
        json.dumps(
            {
                "external_rate": 10,
                "operators": [
                    {"name": "a", "arrival_rate": 10, "service_rate": 4},
                    {"name": "b", "arrival_rate": 10, "service_rate": 8},
                ],
            }
        )
    )
    code, out, _ = run("plan", str(file), "--kmax", "8", "--json")
    plan = json.loads(out)
    assert code == 0
    assert plan["total"] == sum(plan["allocation"].values()) == 8
    code, _, err = run("plan", str(file), "--tmax", "10ms")
    assert code == 2
    assert "possible" in err or "latency" in err
