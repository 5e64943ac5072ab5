"""The templates of all static pages, and the words they may use: shares, spans, clipped texts."""

from __future__ import annotations

import time
from collections.abc import Iterable

from jinja2 import ChoiceLoader, Environment, PackageLoader, PrefixLoader, StrictUndefined, select_autoescape

from failscape.report.figures import basic as figures
from failscape.report.figures.heat import NARROW, WIDE, heat_legend, heat_map

PAGE = "index.html"


def templates(packages: Iterable[str] = ()) -> Environment:
    """The page templates: everything put into them is escaped, and unknown names are errors.

    `packages` bring templates of their own, as `package:name.html`.
    """
    strangers = {package: PackageLoader(package, "templates") for package in sorted(packages)}
    environment = Environment(
        loader=ChoiceLoader(
            [PackageLoader("failscape.report", "templates"), PrefixLoader(strangers, delimiter=":")]
        ),
        autoescape=select_autoescape(default=True, default_for_string=True),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters.update(
        percent=figures.percent, spread=figures.spread, evalue=figures.number, clip=clip, span=span, when=when
    )
    environment.globals.update(
        heat_map=heat_map, heat_legend=heat_legend, heat_shapes=(WIDE, NARROW), figures=figures
    )
    return environment


def clip(text: str, most: int = 400) -> str:
    """Cut off what does not fit, and say how much where it is more than a few words."""
    left = len(text) - most
    if left <= 0:
        return text
    return f"{text[:most].rstrip()} …" + (f" ({left:,} more characters)" if left > 100 else "")


def span(seconds: float) -> str:
    """A duration for people."""
    if seconds < 10:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return (
        f"{hours} h {minutes:02d} min" if hours else f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
    )


def when(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))
