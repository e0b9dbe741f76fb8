"""Calibration: the parameters of the simulated plant, fitted to an application that runs on Spark."""
