"""Dashboard: a run in the browser, live or from its journal, with steering behind a token."""

from rheostat.web.dashboard import Dashboard

__all__ = ["Dashboard"]
