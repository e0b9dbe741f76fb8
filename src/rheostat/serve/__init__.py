"""The forecasting models as an HTTP service for other programs, as PA-SPS has it."""
