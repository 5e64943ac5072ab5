"""Pieces of HTML that are safe in any notebook: escaped, without scripts and addresses, bounded in size."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence

from markupsafe import Markup

from failscape.notebooks import MOST_BYTES

#: Text beyond this is cut: names come from configs and models, and may be of any length.
MOST_LETTERS = 600

#: Room for the frame around all pieces.
FRAME_BYTES = 1_000

LEFT_OUT = Markup('<p style="opacity:.7">More is left out to keep this small.</p>')


def shortened(text: str) -> str:
    return text if len(text) <= MOST_LETTERS else f"{text[: MOST_LETTERS - 1]}…"


def paragraph(text: str, style: str = "") -> Markup:
    return Markup('<p style="margin:.3em 0;{}">{}</p>').format(style, shortened(text))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Markup:
    """Text in cells; the first column is a name and stands left."""
    lines = Markup("").join(_line("td", row) for row in rows)
    if not lines:
        return Markup("")
    return Markup("<table><thead>{}</thead><tbody>{}</tbody></table>").format(_line("th", head), lines)


def _line(cell: str, texts: Sequence[str]) -> Markup:
    aligned = [("left" if not at else "right", shortened(text)) for at, text in enumerate(texts)]
    tag = Markup(cell)
    frame = Markup('<{} style="padding:2px 8px;text-align:{}">{}</{}>')
    cells = [frame.format(tag, side, text, tag) for side, text in aligned]
    return Markup("<tr>{}</tr>").format(Markup("").join(cells))


def thumbnail(webp: bytes, words: str) -> Markup:
    """A picture inside the page, with a frame so that white ones have an edge."""
    data = base64.b64encode(webp).decode()
    style = "display:inline-block;margin:2px;border:1px solid #999"
    return Markup('<img src="data:image/webp;base64,{}" alt="{}" style="{}">').format(
        data, shortened(words), style
    )


def bounded(pieces: Iterable[Markup]) -> str:
    """All pieces in one frame. Those that no longer fit are left out, and that is said."""
    kept: list[Markup] = []
    room = MOST_BYTES - FRAME_BYTES
    complete = True
    for piece in pieces:
        length = len(piece.encode())
        if length <= room:
            kept.append(piece)
            room -= length
        else:
            complete = False
    if not complete:
        kept.append(LEFT_OUT)
    return str(Markup('<div class="failscape">{}</div>').format(Markup("").join(kept)))
