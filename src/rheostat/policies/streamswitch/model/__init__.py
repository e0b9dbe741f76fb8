"""Model: executors with what they can serve, their load and the latency projected for it."""
