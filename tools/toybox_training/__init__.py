"""Recipes that rebuild what the toybox ships: its pictures, its models and their cards."""
