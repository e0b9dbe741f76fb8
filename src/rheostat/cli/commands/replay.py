"""`rheostat replay`: the decisions that another policy would have made on a recorded run."""

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli.shared_options import PolicyName, PolicyOptionTexts, parse_policy_options
from rheostat.replay import replay


def replay_journal(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="A journal file.", show_default=False)],
    policy: PolicyName = None,
    option: PolicyOptionTexts = None,
    differences: Annotated[int, typer.Option(min=0, help="Show at most this many differences.")] = 20,
) -> None:
    """Run a policy over the snapshots in a journal and show where its decisions differ from the recorded ones."""
    print(replay(journal, policy, parse_policy_options(option)).text(differences))
