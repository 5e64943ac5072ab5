"""Findings as datasets to train and test with."""
