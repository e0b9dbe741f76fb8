"""The topology as streaming queries: which operators share one, what it computes, how its rows are grouped."""
