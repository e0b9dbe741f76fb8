"""Journal: observations, decisions and actions, kept so that a run can be resumed and replayed."""

from rheostat.journal.journal import A_DAY, Journal, NullJournal

__all__ = ["A_DAY", "Journal", "NullJournal"]
