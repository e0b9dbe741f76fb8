"""What a task takes of its node, from what the node as a whole uses (Ra-Stream eq. 3 to 5)."""

from collections.abc import Mapping

from rheostat.placement.resources import Resources


def task_shares(processed: Mapping[str, float], utilisation: Resources) -> dict[str, Resources]:
    """The utilisation of a node, shared out by the records that each task on it processed in the frame.

    While none of them processed any, they share alike.
    """
    total = sum(processed.values())
    return {
        task: utilisation.scaled(records / total if total > 0 else 1 / len(processed))
        for task, records in processed.items()
    }
