"""Invariants of searches and exact computations: each test can fail for one reason only.

How much a search finds, and how often it errs in many random worlds, is measured by `make campaign`.
"""
