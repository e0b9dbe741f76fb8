"""`rheostat dashboard`: the page of a run from its journal, of one that has ended or still goes on elsewhere."""

import signal
import threading
from typing import Annotated

import typer
from rich.console import Console

from rheostat.cli.shared_options import JournalFile
from rheostat.journal import Journal
from rheostat.web.address import LOOPBACK
from rheostat.web.dashboard import Dashboard


def serve_dashboard(
    journal: JournalFile,
    listen: Annotated[
        str,
        typer.Option(metavar="HOST:PORT", help="Where to serve it; beyond this machine it needs a token."),
    ] = LOOPBACK,
) -> None:
    """Serve the page of a recorded run, or of one that another process records now. Ctrl-C stops it."""
    with Journal(journal, read_only=True) as opened, Dashboard(opened, listen, recorded=True) as dashboard:
        address = dashboard.url if dashboard.is_local else dashboard.steering_url
        Console().print(f"dashboard: {address}", highlight=False, markup=False, soft_wrap=True)
        wait_for_interrupt()


def wait_for_interrupt() -> None:
    """Until Ctrl-C or SIGTERM."""
    stopped = threading.Event()
    before = signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    try:
        stopped.wait()
    except KeyboardInterrupt:
        pass
    finally:
        signal.signal(signal.SIGTERM, before)
