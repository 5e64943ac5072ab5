"""Compares models on the same cases: what is fixed, better, worse, new. Deciding is pure, reading apart."""

from failscape.comparison.decide import (
    STATUSES,
    CaseResult,
    ComparedSubject,
    CompareRules,
    ModelResults,
    OverallDifference,
    PairCounts,
    PairedComparison,
    PowerLine,
    SubjectPairs,
    compare_results,
    pair_up,
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
