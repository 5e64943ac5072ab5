"""The table of findings in narrow terminals: titles wrap, numbers never do."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from failscape.cli.findings import _table

LONG = (
    "photographs_of_double_decker_buses_2019: weather=heavy_rain_at_night, camera=dashboard_wide_angle_left"
)


def printed(width: int, wide: bool) -> list[str]:
    hunt: Any = SimpleNamespace(unit="photo")
    row: Any = SimpleNamespace(
        short_title=LONG,
        failures=1234,
        trials=1250,
        rate=0.987,
        interval=(0.979, 0.993),
        e_value=1.5e12,
        status="certified",
    )
    out = io.StringIO()
    Console(file=out, width=width).print(_table(hunt, [row], wide))
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("wide", [False, True])
def test_a_photo_hunt_with_long_names_fits(width: int, wide: bool) -> None:
    lines = printed(width, wide)
    assert all(len(line) <= width for line in lines)
    first, *rest = lines[1:]
    assert "1234 of 1250" in first
    assert "98.7% (98–99.3%)" in first
    assert first.rstrip().endswith("certified")
    assert ("e-value" in lines[0]) == wide
    title = first.partition("1234 of 1250")[0] + "".join(rest)
    assert "".join(title.split()) == "".join(LONG.split()), "a title is wrapped, never cut"
