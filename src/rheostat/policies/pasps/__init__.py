"""PA-SPS (Wladdimiro et al., 2024): replicas by a forecast of the input, and PSPS, its baseline."""
