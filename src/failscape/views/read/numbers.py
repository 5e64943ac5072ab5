"""Numbers as people read them, for everything that shows a hunt: see `failscape.shown_numbers`."""

from failscape.shown_numbers import Interval, number, percent, spread

__all__ = ["Interval", "number", "percent", "spread"]
