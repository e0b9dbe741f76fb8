def test_policies_are_listed_with_a_line_each(run) -> None:  # type: ignore[no-untyped-def]
    code, out, _ = run("policies")
    assert code == 0
    assert "static" in out
    assert "threshold" in out
    assert "rheostat (default)" in out


def test_the_options_of_a_policy_are_listed_with_their_defaults(run) -> None:  # type: ignore[no-untyped-def]
    _, out, _ = run("policies", "threshold")
    assert "high" in out
    assert "0.8" in out
