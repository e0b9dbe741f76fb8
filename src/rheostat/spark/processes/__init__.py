"""Processes that end when we do, and why they ended."""
