"""From raw counters to the quantities the papers reason with: rates, useful time, latency, variation."""
