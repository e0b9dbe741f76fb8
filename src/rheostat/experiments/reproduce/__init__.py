"""The papers' experiments, run again: `rheostat reproduce NAME` shows "paper | here", the claims and a picture.

Each paper has a sub-package, which says `PAPER = Paper(...)`. Each of its modules may say `REPRODUCTIONS =
(Reproduction(...), ...)`; the catalogue finds them, there is no list to keep. `sweep` runs simulations with several
seeds, `scenario_of` makes a scenario from what a scenario file would say.
"""
