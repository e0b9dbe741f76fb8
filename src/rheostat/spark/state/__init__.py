"""State that observing and acting share: plain values, written by one side and read by the other."""
