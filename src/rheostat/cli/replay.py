"""`rheostat replay`: what would another policy have decided?"""

from pathlib import Path
from typing import Annotated

import typer

from rheostat.cli.options import PolicyName, PolicyOptionTexts, parsed
from rheostat.replay import replay


def replay_journal(
    journal: Annotated[Path, typer.Argument(metavar="JOURNAL", help="A journal file.", show_default=False)],
    policy: PolicyName = None,
    option: PolicyOptionTexts = None,
    differences: Annotated[int, typer.Option(min=0, help="Show at most this many differences.")] = 20,
) -> None:
    """Run a policy over the recorded snapshots of a journal and show where it would have decided otherwise."""
    print(replay(journal, policy, parsed(option)).text(differences))
