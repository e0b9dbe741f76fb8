"""Applications to try Rheostat with, and what feeds them."""
