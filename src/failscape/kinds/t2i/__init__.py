"""Hunts for the smallest combinations of entity and attributes that a text-to-image model cannot draw."""
