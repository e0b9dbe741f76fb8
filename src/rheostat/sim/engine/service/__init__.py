"""Service: queues, executors that serve single tuples, and micro-batches."""
