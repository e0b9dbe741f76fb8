"""PA-SPS (Wladdimiro et al., 2024): replicas from a forecast of the input, and PSPS, which expects what came last."""
