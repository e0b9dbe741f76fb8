"""Puts this folder on the path of all tests on Spark, for `drain`. Their fixtures are those of all tests."""
