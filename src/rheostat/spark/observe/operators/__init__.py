"""Measurements of one operator of a topology."""
