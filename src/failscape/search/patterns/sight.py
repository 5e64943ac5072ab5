"""What a judge's "no" about a fact is worth. Pure."""

from __future__ import annotations


def chance_absent_if_denied(yes_asked: int, no_asked: int, yes_others: int, no_others: int) -> float:
    """The probability that a fact that was asked for is missing where the judge does not see it.

    A judge that says no may be right, or may have missed the fact. Facts that nobody asked for tell how often
    it errs, and it is taken to err as often in both directions. How often the generator obeys then follows
    from the judge's answers about facts that were asked for.

    Args:
        yes_asked: Facts that were asked for and seen.
        no_asked: Facts that were asked for and not seen.
        yes_others: Facts that nobody asked for and that the judge sees all the same.
        no_others: Facts that nobody asked for and that the judge does not see.
    """
    if not no_asked:
        return 1.0
    errs = yes_others / max(1, yes_others + no_others)
    says_yes = yes_asked / (yes_asked + no_asked)
    if errs >= 0.5:
        return 0.0
    obeys = min(1.0, max(0.0, (says_yes - errs) / (1 - 2 * errs)))
    return min(1.0, (1 - obeys) * (1 - errs) / (1 - says_yes))
