"""Shows what a hunt found: one static HTML page that opens from disk."""

from failscape.views.pages.page import WrittenReport, write_report

__all__ = ["WrittenReport", "write_report"]
