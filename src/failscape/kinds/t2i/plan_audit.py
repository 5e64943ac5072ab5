"""What an audit of a list costs before there is a list: from the tests that simulated findings would take."""

from collections.abc import Iterator, Sequence

from failscape.kinds.t2i.survey.list_audit import DOUBT, AuditCase, AuditTest
from failscape.stats.audited_share import LEVELS, sample_needed

#: Shares of the list that a plan shows the price of.
SHOWN = (0.9, 0.95)


def say_audit_costs(cases: Sequence[AuditCase], findings: int, images: int) -> Iterator[str]:
    """Lines of a plan for a hunt with so many findings and images; `cases` are findings like them."""
    own = [[case.own] for case in cases]
    both = [[case.own, *case.inside] for case in cases]
    layered = any(case.inside for case in cases)
    for share in SHOWN:
        failing = images_needed(own, findings, share)
        if failing is None:
            yield f"{findings:,} findings are too few for an audit that shows {share:.0%} of them to fail"
            return
        line = f"an audit that shows {share:.0%} of {findings:,} findings to fail, if all do: "
        line += f"about {failing:,} images (`search.audit: {_part(failing, images)}`)"
        minimal = images_needed(both, findings, share) if layered else None
        if minimal is not None:
            line += f"; and to be minimal: about {minimal:,} (`{_part(minimal, images)}`)"
        yield line


def images_needed(tests: Sequence[Sequence[AuditTest]], findings: int, share: float) -> int | None:
    """The cheapest audit that shows a share of a list to be right if all of it is; None if none does."""
    costs = []
    for level in LEVELS:
        size = max(test.size(level) for some in tests for test in some)
        sample = sample_needed(findings, share, size, DOUBT)
        if sample is not None:
            each = sum(test.images(level) for some in tests for test in some) / len(tests)
            costs.append(round(sample * each))
    return min(costs, default=None)


def _part(audit: int, images: int) -> str:
    """The share of the budget, as the config takes it."""
    part = audit / images
    return f"{part:.2g}" if part <= 0.5 else "more than half of the budget"
