"""Figures as SVG text; pure."""
