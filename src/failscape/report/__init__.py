"""Shows what a hunt found: findings joined with their evidence, and one static HTML page."""

from failscape.report.load import (
    Evidence,
    EvidenceReader,
    LoadedHunt,
    Shot,
    choose_hunt,
    finding_records,
    load_hunt,
)
from failscape.report.page import WrittenReport, write_report

__all__ = [
    "Evidence",
    "EvidenceReader",
    "LoadedHunt",
    "Shot",
    "WrittenReport",
    "choose_hunt",
    "finding_records",
    "load_hunt",
    "write_report",
]
