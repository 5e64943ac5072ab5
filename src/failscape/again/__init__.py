"""Compares models on the same cases: what is fixed, better, worse, new. Deciding is pure, reading apart."""
