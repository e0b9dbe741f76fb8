"""The acting side: makes executors and queries what a plan wants."""
