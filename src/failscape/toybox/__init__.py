"""Toybox: a small world drawn by code, and real models trained on it. Nothing here needs a network."""
