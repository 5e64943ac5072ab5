"""Objects that notebooks show as HTML, which `views.notebook` makes when it is asked for."""

from __future__ import annotations

import importlib

#: The most that one object adds to a notebook, in bytes: a page of them can still be sent and kept in git.
MOST_BYTES = 200_000


class ShownInNotebooks:
    """Has a notebook show it as HTML.

    The view is reached by its name, as kinds of hunt reach their pages: what is shown does not import views.
    """

    __slots__ = ()

    def _repr_html_(self) -> str:
        html: str = importlib.import_module("failscape.views.notebook").html_of(self)
        return html
