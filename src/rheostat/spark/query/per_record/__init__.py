"""Per record: operators as functions on single records, timed in the executors."""
