"""The short form of the faults on the wire; the long one is a part of `python -m benchmarks.chaos`."""

from __future__ import annotations

import pytest
from benchmarks.wire_faults import FAULTS, WireFault, meet, table_of

#: Those that take long, or try what another one tries too, are left to the long form.
SHORT = (
    "closes without a word", "a body without a status line", "a length longer than the body",
    "a length of 9 GB", "a chunk of size zz", "301 to a link-local address", "429, Retry-After: 0",
    "gzip: 1 MB unpacks to 400 MB", "gzip that is none", "brotli",
    "gzip, then 6 MB behind its end", "600,000 chunks of one letter", "JSON of 6 MB", "100,000 brackets",
    "a million empty lists", "content is reasoning only", "a lone surrogate", "an error beside the choices",
    "a body without an end", "usage of 1e30", "gzip though plain was asked for", "an SVG",
    "a PNG header without pixels", "a PNG with one row of 64", "half a JPEG with an end", "1 × 1",
    "60,000 × 60,000 pixels", "an address of a file",
)  # fmt: skip


def test_there_are_many_faults_and_each_has_a_name() -> None:
    names = [fault.name for fault in FAULTS]
    assert len(set(names)) == len(names) >= 60
    assert set(SHORT) <= set(names)


@pytest.mark.parametrize(
    "fault", [fault for fault in FAULTS if fault.name in SHORT], ids=lambda one: one.name
)
async def test_a_fault_on_the_wire_holds(fault: WireFault) -> None:
    row = await meet(fault)
    assert row.problems == []
    assert list(table_of([row]))[-1].endswith("| yes |")
