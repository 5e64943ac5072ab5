"""Writes the page about scarcity: one static HTML file that opens from disk and needs no network."""

from __future__ import annotations

import time
from pathlib import Path

from markupsafe import Markup

from failscape import __version__
from failscape.atlas.faults import explained
from failscape.atlas.files import write_whole
from failscape.attribution.scarcity import Scarcity, Span
from failscape.attribution.scatter import scatter
from failscape.evidence import HuntReader
from failscape.report.templating import templates

PAGE = "attribution.html"
ROWS = 50


def write_attribution(hunt: HuntReader, scarcity: Scarcity, out: Path | None = None) -> Path:
    """Write the page to file `out` (default: `report/attribution.html` inside the atlas)."""
    path = out if out is not None else hunt.atlas.folder / "report" / PAGE
    page = render_attribution(scarcity, hunt.target, str(hunt.atlas.folder))
    with explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, page.encode("utf-8", "replace"))
    return path


def render_attribution(scarcity: Scarcity, target: str, atlas: str) -> str:
    subjects, bins = scarcity.subjects, scarcity.bins
    return (
        templates()
        .get_template("attribution.html")
        .render(
            view=scarcity,
            target=target,
            atlas=atlas,
            # Text in a drawing shrinks with it, so small screens get a drawing of their own.
            wide=scatter(subjects, bins, 1080, 460, "wide"),
            narrow=scatter(subjects, bins, 360, 400, "narrow"),
            rho_bar=rho_bar,
            rows=ROWS,
            version=__version__,
            written=time.strftime("%Y-%m-%d %H:%M"),
        )
    )


def rho_bar(rho: float, interval: Span) -> Markup:
    """A correlation with its interval on a scale from -1 to 1."""
    low, high, at = (50 + 50 * max(-1.0, min(1.0, value)) for value in (*interval, rho))
    words = f"correlation {rho:+.2f}, interval {interval[0]:+.2f} to {interval[1]:+.2f}"
    return Markup(
        '<svg class="rho" viewBox="-1 0 102 14" preserveAspectRatio="none" role="img"'
        f' aria-label="{words}"><title>{words}</title><line class="track" x1="0" x2="100" y1="7" y2="7"/>'
        f'<line class="zero" x1="50" x2="50" y1="0" y2="14"/>'
        f'<rect class="span" x="{low:.1f}" y="4" width="{max(0.6, high - low):.1f}" height="6" rx="1"/>'
        f'<rect class="at" x="{at - 0.6:.1f}" y="1.5" width="1.2" height="11" rx=".5"/></svg>'
    )
