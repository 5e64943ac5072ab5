"""The version of the rules that claims are made by. The only place where it is written."""

RULES_VERSION = 6
"""An atlas that was recorded under an earlier version is read anew, and says so."""
