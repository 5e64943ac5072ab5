"""Numbers as people read them: shares, intervals, e-values. One text for one number, on every screen."""

import math

Interval = tuple[float, float]


def percent(share: float) -> str:
    """`3.2%` for small shares, `99.4%` for those near all, `41%` for others."""
    if not math.isfinite(share):
        return "–"
    return f"{share:.1%}" if 0 < share < 0.095 or 0.985 < share < 0.9995 else f"{share:.0%}"


def spread(interval: Interval) -> str:
    """An interval for people: `63–100%`, or `1.2–4.9%` where it is short enough for decimals to matter."""
    low, high = interval
    if not (math.isfinite(low) and math.isfinite(high)):
        return "–"
    if high - low >= 0.1:
        return f"{100 * low:.0f}–{high:.0%}"
    return f"{percent(low if low >= 0.0005 else 0.0).removesuffix('%')}–{percent(high)}"


def lower_bound(share: float) -> str:
    """A proven lower end in whole percent, rounded down so that it never says more than was shown: `92%`."""
    # A bound such as 0.29 is stored as 0.28999…: it must not lose a whole percent to that.
    return f"{math.floor(100 * share + 1e-9)}%"


def number(value: float) -> str:
    """An e-value for people: short, and honest about size."""
    if not math.isfinite(value):
        return "∞" if value == math.inf else "–"
    if value >= 1e5:
        power = math.floor(math.log10(value))
        raised = str(power).translate(str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻"))
        return f"{value / 10**power:.1f}·10{raised}"
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
