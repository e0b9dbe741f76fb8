"""Makes the executors and queries of an application what a plan wants."""
