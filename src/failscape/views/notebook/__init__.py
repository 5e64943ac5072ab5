"""What notebooks show: an atlas, a finding, a theme, an answer or a comparison as one small piece of HTML."""

from failscape.views.notebook.shown import atlas_html, html_of

__all__ = ["atlas_html", "html_of"]
