"""Configuration of loads: shapes and skews from plain tables, as read from a TOML or JSON file.

{shape = "sine", base = 100, amplitude = 50, period = "60s"}
{csv = "taxi.csv", unit = "count", duration = "10m", peak = 5000}
{sum = [{shape = "constant", rate = 100}, {shape = "erratic", low = 0, high = 50, interval = "5s"}]}
{product = [{csv = "taxi.csv"}, 0.5], delay = "1m", repeat = "1h"}
{zipf = 1.5, keys = 1000, rotate = 10}
"""

import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from rheostat.errors import LoadError, MissingTraceError, nearest
from rheostat.load import skew
from rheostat.load.curves import Diurnal, OpeningAuction, Progressive, Ramp, Sine, Spike, Step
from rheostat.load.erratic import Erratic
from rheostat.load.fields import Parts, checked
from rheostat.load.shape import Constant, Product, Shape, Sum
from rheostat.load.trace import Trace

Options = dict[str, Any]
Config = Mapping[str, Any]
Made = TypeVar("Made")

SHAPES: Mapping[str, Callable[..., Shape]] = {
    "constant": Constant,
    "step": Step,
    "ramp": Ramp,
    "sine": Sine,
    "spike": Spike,
    "progressive": Progressive,
    "erratic": Erratic,
    "opening_auction": OpeningAuction,
    "diurnal": Diurnal,
}
"""The shapes by their names in a configuration."""

SKEWS: Mapping[str, tuple[Callable[..., skew.Weights], str]] = {
    "uniform": (skew.uniform, "keys"),
    "zipf": (skew.zipf, "exponent"),
    "hot_set": (skew.hot_set, "fraction"),
    "limit_orders": (skew.limit_orders, "stocks"),
    "table": (skew.table, "weights"),
    "csv": (skew.from_csv, "path"),
}
"""The skews by their names in a configuration, each with the parameter that the name sets."""


def shape_from(config: Config | float, folder: Path | str = ".", traces: Path | str | None = None) -> Shape:
    """The shape that `config` describes: a number for a constant rate, or a table as above.

    Paths of traces are relative to `folder`, or to `traces` if they are not there. A sum or product lists numbers and
    tables. Any shape may have `repeat`, the time after which it starts over (for a trace also `true`: at its end), and
    `delay`, the time before it starts.
    """
    if not isinstance(config, Mapping):
        return Constant(config)  # which refuses what is not a number
    kind, main, options = _split(config, ("shape", "csv", "sum", "product"), "load")
    repeat, delay = options.pop("repeat", None), options.pop("delay", None)
    shape = _unmodified(kind, main, options, _folders(folder, traces))
    if repeat is not None:
        shape = shape.repeated(shape.duration_s if repeat is True and isinstance(shape, Trace) else repeat)
    return shape if delay is None else shape.delayed(delay)


def skew_from(config: Config, folder: Path | str = ".", traces: Path | str | None = None) -> skew.Weights:
    """The weights that `config` describes; `rotate` makes other keys hot, `substreams` maps keys to substreams."""
    if not isinstance(config, Mapping):  # a file may say anything
        raise LoadError(f"skew {config!r} is not a table such as {{zipf = 1.5, keys = 1000}}")
    kind, main, options = _split(config, SKEWS, "skew")
    rotate, substreams = options.pop("rotate", 0), options.pop("substreams", None)
    make, parameter = SKEWS[kind]
    given = _path(main, _folders(folder, traces)) if kind == "csv" else main
    weights = skew.rotated(_made(make, kind, {parameter: given}, options, ("rotate", "substreams")), rotate)
    return weights if substreams is None else skew.folded(weights, substreams)


def _unmodified(kind: str, main: Any, options: Options, folders: Sequence[Path]) -> Shape:
    if kind == "csv":
        return _trace(_path(main, folders), options)
    if kind == "shape":
        name = str(main)
        if name not in SHAPES:
            raise LoadError(f"shape {main!r} is unknown: {nearest(name, SHAPES)}")
        return _made(SHAPES[name], name, {}, options, ("repeat", "delay"))
    parts = tuple(shape_from(part, *folders) for part in checked(main, Parts, kind))
    combine = {"sum": Sum, "product": Product}[kind]
    return _made(combine, kind, {"parts": parts}, options, ("repeat", "delay"))


def _trace(path: Path, options: Options) -> Trace:
    rescale = {"duration": Trace.to_duration, "mean": Trace.to_mean, "peak": Trace.to_peak}
    wanted = {name: options.pop(name) for name in rescale if name in options}
    if "mean" in wanted and "peak" in wanted:
        raise LoadError(f"csv has mean {wanted['mean']!r} and peak {wanted['peak']!r}: give one of them")
    trace = _made(Trace.from_csv, "csv", {"path": path}, options, (*rescale, "repeat", "delay"))
    for name, value in wanted.items():
        trace = rescale[name](trace, value)
    return trace


def _split(config: Config, kinds: Collection[str], what: str) -> tuple[str, Any, Options]:
    """The kind that `config` names, its value, and the other options."""
    named = [kind for kind in kinds if kind in config]
    if len(named) != 1:
        found = " and ".join(named) or "none"
        raise LoadError(f"{what} {dict(config)} must name one of {', '.join(sorted(kinds))}, it has {found}")
    options = {str(key): value for key, value in config.items()}
    return named[0], options.pop(named[0]), options


def _made(
    make: Callable[..., Made],
    name: str,
    main: Options,
    options: Options,
    also: tuple[str, ...],
) -> Made:
    """`make(**main, **options)`, with errors for unknown and missing options by its signature."""
    parameters = inspect.signature(make).parameters
    takes = parameters.keys() - main.keys()
    for option in sorted(options.keys() - takes):
        raise LoadError(f"{name} has no option {option!r}: {nearest(option, takes | set(also))}")
    for option in sorted(takes - options.keys()):
        if parameters[option].default is inspect.Parameter.empty:
            raise LoadError(f"{name} needs {option!r}, it has {', '.join(sorted(options)) or 'nothing'}")
    return make(**main, **options)


def _folders(folder: Path | str, traces: Path | str | None) -> tuple[Path, ...]:
    return (Path(folder),) if traces is None else (Path(folder), Path(traces))


def _path(value: object, folders: Sequence[Path]) -> Path:
    """The file in the first of the folders that has it."""
    if not isinstance(value, str):
        raise LoadError(f"csv {value!r} is not the path of a file")
    found = next((folder / value for folder in folders if (folder / value).exists()), None)
    if found is None:
        also = "".join(f", nor is it in {folder}" for folder in folders[1:])
        raise MissingTraceError(
            f"{folders[0] / value} cannot be read: No such file{also}: give the folder that has it with --traces DIR"
        )
    return found
