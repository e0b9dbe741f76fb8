"""Strategies: the best way to scale out, to scale in or to rebalance by moving substreams."""
