"""Forecasting service: the forecasting models over HTTP, as in PA-SPS."""
