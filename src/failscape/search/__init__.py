"""Strategies: pure objects that are asked for probes and told trials. See `protocol.py`."""
