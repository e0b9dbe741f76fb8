"""Q-learning: the reinforcement-learning baseline of DABS-Storm, from input rates to executors (see `policy`)."""
