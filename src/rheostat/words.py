"""Words in which reasons are given."""


def executors(number: float) -> str:
    """ "1 executor", "3 executors"."""
    return f"{number:.0f} executor{'' if number == 1 else 's'}"
