"""SVG: elements, scales with round ticks, and lines, as text. Colours come from the classes of the page's style."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

Point = tuple[float, float]


def element(name: str, *content: str, **attributes: str | float) -> str:
    """An element; underscores at the end of an attribute's name are dropped, others are hyphens. Content is markup."""
    written = "".join(f' {_name(key)}="{_value(value)}"' for key, value in attributes.items())
    return f"<{name}{written}>{''.join(content)}</{name}>" if content else f"<{name}{written}/>"


def text(x: float, y: float, label: str, **attributes: str | float) -> str:
    return element("text", escape(label), x=x, y=y, **attributes)


def line(x1: float, y1: float, x2: float, y2: float, class_: str) -> str:
    return element("line", x1=x1, y1=y1, x2=x2, y2=y2, class_=class_)


def drawing(width: float, height: float, label: str, content: Iterable[str]) -> str:
    """A whole picture that fits the width of the page; `label` is read out where it cannot be seen."""
    return element(
        "svg",
        element("title", escape(label)),
        *content,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:g} {height:g}",
        role="img",
    )


def path_through(points: Sequence[Point]) -> str:
    """The data of a path from point to point."""
    return "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in points)


def steps_through(points: Sequence[Point]) -> list[Point]:
    """The same points with a level line to the next one, and then a jump."""
    stepped: list[Point] = []
    for x, y in points:
        if stepped:
            stepped.append((x, stepped[-1][1]))
        stepped.append((x, y))
    return stepped


@dataclass(frozen=True)
class AxisScale:
    """From values to places in the picture; values beyond the ends are drawn at the ends."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        inside = min(max(value, self.low), self.high)
        return self.start + (inside - self.low) / ((self.high - self.low) or 1.0) * (self.end - self.start)

    def ticks(self, most: int = 5) -> list[float]:
        """Round values within the ends."""
        step = round_step((self.high - self.low) / max(1, most))
        first = math.ceil(self.low / step - 1e-9)
        return [number * step for number in range(first, math.floor(self.high / step + 1e-9) + 1)]


def round_step(least: float) -> float:
    """The least of 1, 2, 2.5 and 5 times a power of ten that is not below `least`."""
    if not least > 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(least))
    return next(factor * power for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * power >= least * (1 - 1e-9))


def _name(attribute: str) -> str:
    return attribute.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return escape(value) if isinstance(value, str) else f"{value:.1f}".removesuffix(".0")
