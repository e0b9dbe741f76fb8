"""Figure texts: shares, counts and the summary of a policy in words, for tables of any kind."""

from rheostat.experiments.comparison.ranking import RankedPolicy


def percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def count(value: float) -> str:
    """Means of counts have one decimal, unless they are whole or large."""
    return f"{value:,.1f}".removesuffix(".0") if abs(value) < 1000 else f"{value:,.0f}"


def ranking_cells(each: RankedPolicy) -> tuple[str, ...]:
    """Policy, mean rank, median and worst success, median cost, and in how many scenarios it met the SLA and is on the
    front."""
    return (
        each.policy,
        f"{each.mean_rank:.1f}",
        percent(each.median_success),
        percent(each.worst_success),
        "–" if each.median_cost_ratio is None else f"{each.median_cost_ratio:.2f}",
        f"{each.met} of {each.scenarios}",
        f"{each.on_front} of {each.scenarios}",
    )
