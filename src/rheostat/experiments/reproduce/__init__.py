"""Reproduction of the papers' experiments: printed and measured numbers, claims and a picture for each.

Each paper has a subpackage with `PAPER = Paper(...)`. A module in it may have `REPRODUCTIONS = (Reproduction(...),
...)`; the catalogue finds them all. `sweep` simulates cases with several seeds; `scenario_of` builds a scenario from
the fields of a scenario file.
"""
