"""Examples at the head of a page: honest about verdicts, same seed, about different things."""

from failscape.trials import Finding, Verdict
from failscape.views.read import FindingEvidence, Place, Shot, ShotRow
from failscape.views.read.findings import before_after, varied_examples, varied_order
from failscape.views.read.shots import rate_of_counts

FAIL, PASS = Verdict.FAIL, Verdict.PASS


def shot(seed, verdict, images=("x",), purpose="evidence", apart=False):
    return Shot(f"#{seed}", seed, verdict, "", images, (), (), (), purpose, apart)


def finding(subject="cat"):
    return Finding(subject, subject, "a cat", "certified", 1.0, (0.5, 1.0), 30.0, 4, 4)


def evidence(own, *parents, subject="cat"):
    rate = rate_of_counts(0, 4)
    rows = [ShotRow(f"parent {at}", "parent", rate, tuple(shots)) for at, shots in enumerate(parents)]
    mine = ShotRow(subject, "a cat", rate_of_counts(4, 4), tuple(own), ("evidence",))
    return FindingEvidence(finding(subject), mine, tuple(rows), ())


def pair_of(one):
    return before_after(1, one)


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


def test_a_finding_without_a_failed_picture_has_no_example():
    assert pair_of(evidence([shot(1, PASS), shot(2, FAIL, images=())])) is None


def test_a_picture_that_does_not_count_is_no_example():
    assert pair_of(evidence([shot(1, FAIL, purpose="random sample", apart=True)])) is None
    assert pair_of(evidence([shot(1, FAIL, purpose="first look")])) is None


def place(subject):
    thing, *labels = subject.split("; ")
    return Place(thing, "animals", tuple(label.partition("=")[0] for label in labels))


RED, BLUE, TOP = "Base: Colour=red", "Base: Colour=blue", "Base: Hat=top hat"


def test_examples_differ_in_thing_and_attribute():
    subjects = [f"cat; {RED}", f"cat; {BLUE}", f"dog; {RED}", f"owl; {TOP}", f"dog; {TOP}"]
    order = varied_order([finding(one) for one in subjects], place)
    assert order[:2] == [0, 3]
    assert sorted(order) == list(range(5))


def test_true_pairs_come_first_and_numbers_are_those_of_the_list():
    findings = [finding(f"thing {at}") for at in range(9)]
    alone, pair = [[shot(1, FAIL)]], [[shot(1, FAIL)], [shot(1, PASS)]]

    def evidence_of(one):
        return evidence(*(alone if one.subject == "thing 0" else pair), subject=one.subject)

    found = varied_examples(findings[:3], place, evidence_of, 6)
    assert [one.number for one in found] == [2, 3, 1]
    assert len(varied_examples(findings, place, evidence_of, 6)) == 6
