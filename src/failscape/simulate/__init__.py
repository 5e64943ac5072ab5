"""Planted worlds: models whose failures are known, for plans, exams and benchmarks."""
