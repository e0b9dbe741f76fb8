"""The reinforcement learning that DABS-Storm compares itself with: from input rates to degrees (see `policy`)."""
