"""How the results are to be read beside the paper's, by figure."""

NOTES: dict[int, tuple[str, ...]] = {}
