"""Near names: a hint for an unknown name, with all that are spelled like it."""

from collections.abc import Mapping
from difflib import get_close_matches

_MOST = 3


def near_names(word: str, *known: Mapping[str, str]) -> str:
    """`did you mean drs or ds2?`, from the first mapping that has near names; or all names of the last one.

    Mappings have what to show for each name.
    """
    for names in known:
        if near := [names[name] for name in get_close_matches(word, sorted(names), n=_MOST)]:
            return f"did you mean {' or '.join(near)}?"
    return f"known: {', '.join(sorted(known[-1].values()))}" if known[-1] else "none is known"
