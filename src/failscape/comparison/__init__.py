"""Compares models on the same cases: what is fixed, better, worse, new. Deciding is pure, reading apart."""

from failscape.comparison.decide import compare_results
from failscape.comparison.pairs import CaseResult, ModelResults, PairCounts, SubjectPairs, pair_up
from failscape.comparison.result import (
    STATUSES,
    ComparedSubject,
    CompareRules,
    OverallDifference,
    PairedComparison,
    PowerLine,
)

__all__ = [
    "STATUSES",
    "CaseResult",
    "CompareRules",
    "ComparedSubject",
    "ModelResults",
    "OverallDifference",
    "PairCounts",
    "PairedComparison",
    "PowerLine",
    "SubjectPairs",
    "compare_results",
    "pair_up",
]
