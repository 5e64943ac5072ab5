"""Findings that differ in one value are told once."""

from failscape.trials import Finding
from failscape.views.read.findings import families_of


def finding(subject):
    return Finding(subject, subject, "", "certified", 1.0, (0.5, 1.0), 30.0, 4, 4)


def members(*subjects):
    return [family.members for family in families_of([finding(subject) for subject in subjects])]


def test_values_of_one_kind_make_a_family():
    found = families_of([finding(f"cat; Base: count={n}") for n in ("two", "three")] + [finding("dog")])
    assert [family.members for family in found] == [(0, 1), (2,)]
    assert (found[0].kind, found[0].values) == ("Base: count", ("two", "three"))


def test_things_and_kinds_are_kept_apart():
    assert members("cat; A: x=1", "dog; A: x=1", "cat; A: y=1", "cat") == [(0,), (1,), (2,), (3,)]


def test_each_finding_is_in_one_family_and_large_ones_come_first():
    subjects = ["cat; A: x=1; A: y=1", "cat; A: x=1; A: y=2", "cat; A: x=2; A: y=1", "cat; A: x=3; A: y=1"]
    found = members(*subjects)
    assert found == [(0, 2, 3), (1,)]
    assert sorted(at for family in found for at in family) == [0, 1, 2, 3]


def test_subjects_of_any_form_are_taken():
    assert members("odd kind | odd one out", "; ; =", "=") == [(0,), (1,), (2,)]
