from rheostat.policies.rheostat.failed_sizes import FailedSizes


def tried(work_then: float, after_s: float = 60.0) -> FailedSizes:
    """Scaled in to 2 for a work of 1.5, and out again."""
    failed = FailedSizes()
    failed.scaled_in(100.0, 2, 1.5)
    failed.scaled_out(100.0 + after_s, work_then)
    return failed


def test_a_size_that_failed_is_not_tried_again_at_the_same_load_for_an_hour():
    failed = tried(1.6)
    assert failed.least(200.0, 1.5) == 3
    assert failed.least(200.0, 1.3) == 3
    assert failed.least(200.0, 1.2) == 0, "the load is lower now"
    assert failed.least(4000.0, 1.5) == 0


def test_a_size_did_not_fail_if_the_load_rose_or_it_was_enough_for_long():
    assert tried(1.9).least(200.0, 1.5) == 0
    assert tried(1.5, after_s=700.0).least(900.0, 1.5) == 0


def test_only_the_scale_out_that_follows_says_something():
    failed = FailedSizes()
    failed.scaled_out(50.0, 1.5)
    assert failed.least(60.0, 1.5) == 0
    failed.scaled_in(100.0, 2, 1.5)
    failed.scaled_out(160.0, 3.0)
    failed.scaled_out(170.0, 1.5)
    assert failed.least(200.0, 1.5) == 0
