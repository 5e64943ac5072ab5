"""How the pages of this folder become a site: `make docs`. Plain Markdown stays the source.

The reference pages (`reference-*.md`) are made from the code each time.
"""

import re
import sys
from pathlib import Path
from typing import Any

project = "Failscape"
author = "The Failscape authors"
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "Failscape"
html_static_path: list[str] = []
html_extra_path = ["llms.txt"]
exclude_patterns = ["_site"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_url_schemes = ["http", "https", "mailto"]
suppress_warnings = ["misc.highlighting_failure", "myst.header"]

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))  # for `tools`, which is not installed

_OUTSIDE = re.compile(r"\[([^\]]*)\]\(\.\./[^)]*\)")


def setup(app: Any) -> None:
    """Links to files beside this folder work in the repository; on the site only their words stay."""

    def keep_words(_: Any, name: str, source: list[str]) -> None:
        source[0] = _OUTSIDE.sub(r"\1", source[0])

    from tools.reference import pages

    for name, text in pages().items():
        (HERE / name).write_text(text.rstrip() + "\n", encoding="utf-8")
    app.connect("source-read", keep_words)
