"""Benchmark runner: `python -m bench [NAME ...]` runs the named benchmarks, or all. Each prints its own table."""

import argparse
import ast
import importlib
import sys
from pathlib import Path

BENCHMARKS = {path.stem: path for path in sorted(Path(__file__).parent.glob("[a-z]*.py"))}


def main(arguments: list[str]) -> None:
    parser = _parser()
    names = parser.parse_args(arguments).names or list(BENCHMARKS)
    for name in names:
        if name not in BENCHMARKS:
            parser.error(f"no benchmark is called {name!r}; there are: {', '.join(BENCHMARKS)}")
    for name in names:
        print(f"\n== {name}", flush=True)
        sys.argv = [f"bench.{name}"]
        importlib.import_module(f"bench.{name}").main()


def _parser() -> argparse.ArgumentParser:
    width = max(map(len, BENCHMARKS)) + 2
    listed = "\n".join(f"  {name:{width}}{_title(path)}" for name, path in BENCHMARKS.items())
    parser = argparse.ArgumentParser(
        prog="python -m bench",
        description="Run benchmarks, all of them if none is named.",
        epilog=f"benchmarks (python -m bench.NAME --help shows the options of one):\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="a benchmark to run")
    return parser


def _title(path: Path) -> str:
    """What a benchmark measures: the first line of its docstring, without the name."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.partition("\n")[0].partition(": ")[2]


if __name__ == "__main__":
    main(sys.argv[1:])
