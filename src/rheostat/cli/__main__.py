"""`python -m rheostat.cli` is the same as `rheostat`."""

from rheostat.cli import main

main()
