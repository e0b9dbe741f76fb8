"""What was seen, decided and done, kept so that a run can be resumed and replayed."""

from rheostat.journal.journal import Journal, NullJournal

__all__ = ["Journal", "NullJournal"]
