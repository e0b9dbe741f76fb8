"""`python -m bench [NAME ...]`: run the benchmarks, all of them or those named. Each prints its own table."""

import importlib
import sys
from pathlib import Path

BENCHMARKS = sorted(path.stem for path in Path(__file__).parent.glob("[a-z]*.py"))


def main(names: list[str]) -> None:
    for name in names or BENCHMARKS:
        if name not in BENCHMARKS:
            sys.exit(f"error: no benchmark is called {name!r}; there are: {', '.join(BENCHMARKS)}")
        print(f"\n== {name}", flush=True)
        importlib.import_module(f"bench.{name}").main()


main(sys.argv[1:])
