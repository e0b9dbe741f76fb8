"""Near names: a hint for an unknown name, with all that are spelled like it."""

from collections.abc import Mapping
from difflib import get_close_matches

_MOST = 3


def near_names(word: str, known: Mapping[str, str]) -> str:
    """`did you mean drs or ds2?`, or all that are known; `known` has what to show for each name."""
    near = [known[name] for name in get_close_matches(word, sorted(known), n=_MOST)]
    if near:
        return f"did you mean {' or '.join(near)}?"
    return f"known: {', '.join(sorted(known.values()))}" if known else "none is known"
