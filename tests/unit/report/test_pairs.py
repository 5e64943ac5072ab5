"""The pairs at the head of the page: honest about verdicts, same seed, never half empty."""

from failscape.report.examples import PAIRS, pairs_of
from failscape.report.load import Evidence, Row, Shot
from failscape.trials import Finding, Verdict

FAIL, PASS = Verdict.FAIL, Verdict.PASS


def shot(seed, verdict, images=("x",)):
    return Shot(f"#{seed}", seed, verdict, "", images, (), (), ())


def evidence(own, *parents):
    finding = Finding("cat", "cat", "a cat", "certified", 1.0, (0.5, 1.0), 30.0, 4, 4)
    rows = [Row(f"parent {at}", "parent", 0, 4, tuple(shots)) for at, shots in enumerate(parents)]
    return Evidence(finding, Row("cat", "a cat", 4, 4, tuple(own)), tuple(rows), ())


def pair_of(one):
    return pairs_of([(number, one) for number in (1, 2, 3)])[0]


def test_a_failed_picture_stands_beside_a_passing_one_of_the_same_seed():
    own = [shot(1, PASS), shot(2, FAIL), shot(3, FAIL)]
    pair = pair_of(evidence(own, [shot(1, PASS), shot(2, FAIL), shot(3, PASS)]))
    assert (pair.after.seed, pair.before.seed) == (3, 3)


def test_another_parent_may_pass_where_the_first_does_not():
    pair = pair_of(evidence([shot(1, FAIL)], [shot(1, FAIL)], [shot(1, PASS)]))
    assert pair.parent.subject == "parent 1"


def test_without_a_passing_parent_the_failure_stands_alone():
    for parents in ([], [[None]], [[shot(1, FAIL)]], [[shot(1, PASS, images=())]]):
        assert pair_of(evidence([shot(1, FAIL)], *parents)).before is None


def test_a_finding_without_a_failed_picture_has_no_pair():
    assert pairs_of([(n, evidence([shot(1, PASS), shot(2, FAIL, images=())])) for n in range(9)]) == []


def test_few_findings_need_no_head_and_many_are_bounded():
    one = evidence([shot(1, FAIL)])
    assert pairs_of([(1, one), (2, one)]) == []
    assert len(pairs_of([(n, one) for n in range(99)])) == PAIRS


def test_true_pairs_come_first():
    alone, pair = evidence([shot(1, FAIL)]), evidence([shot(1, FAIL)], [shot(1, PASS)])
    assert [one.number for one in pairs_of([(1, alone), (2, pair), (3, pair)])] == [2, 3, 1]
