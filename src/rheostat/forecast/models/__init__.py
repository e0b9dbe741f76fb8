"""Forecasting models: each continues a window of samples."""
