"""Entry point of `python -m rheostat.cli`, the same as `rheostat`."""

from rheostat.cli import main

main()
