"""Runs probes against models: stages, budget, health, progress, and the loop that joins them."""
