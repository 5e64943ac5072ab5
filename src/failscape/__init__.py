"""Failscape finds, certifies and maps where vision models fail."""

__version__ = "0.1.0"
