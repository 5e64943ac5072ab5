"""Scarcity: bins, thirds, exceptions and relations, on subjects made for the purpose."""

import json
import xml.etree.ElementTree as ET
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.trials import Finding
from failscape.views.attribution import scarcity as module
from failscape.views.attribution.scarcity import (
    PASSING,
    CaptionedSubject,
    CountFrame,
    Relation,
    Scarcity,
    bin_edges,
    dots_of,
    radius,
    render_attribution,
    rho_bar,
    scatter,
    thirds,
)

HOSTILE = "<script>alert(1)</script>\" ' & {{ 7 * 7 }}"


def subject(name, count, failures, trials=10, finding=None, layer=0, entity=None):
    found = failures / trials > PASSING if finding is None else finding
    return CaptionedSubject(name, name, entity or name, layer, count, trials, failures, found)


def scarcity_of(subjects):
    rates = {one.subject: one for one in subjects if one.finding}
    findings = {
        name: Finding(name, name, "", "threshold", one.rate, (0.3, 1.0), 50.0, one.trials, one.failures)
        for name, one in sorted(rates.items(), key=lambda each: -each[1].rate)
    }
    return Scarcity(
        1,
        "counts.json",
        None,
        0.95,
        PASSING,
        subjects,
        0,
        0,
        module._relations(subjects),
        module._bins(subjects),
        module._frequent_failing(subjects, findings),
        module._rare_passing(subjects, PASSING),
    )


def planted(slope, seed=1, n=300):
    """Failure that falls (or not) with the logarithm of the count."""
    rng = np.random.default_rng(seed)
    counts = np.floor(10 ** rng.uniform(-0.5, 4, n))
    failures = rng.binomial(10, 1 / (1 + np.exp(slope * (np.log1p(counts) - 4))))
    return [
        subject(f"thing{i}", int(c), int(f), entity=f"e{i % 30}")
        for i, (c, f) in enumerate(zip(counts, failures, strict=True))
    ]


def test_a_planted_relation_is_found():
    made = scarcity_of(planted(1.0))
    assert made.overall.rho < -0.7
    assert made.overall.interval[1] < -0.6
    assert (made.overall.unit, made.overall.units) == ("entity", 30)
    assert "follows scarcity" in made.verdict
    shares = [one.share for one in made.bins]
    assert shares == sorted(shares, reverse=True)
    assert all(one.interval[0] <= one.share <= one.interval[1] for one in made.bins)


def test_without_a_relation_none_is_claimed():
    """At 95 %, 60 hunts without a relation give at most 10 wrong claims, but for 2 chances in 10,000."""
    wrong = sum(scarcity_of(planted(0.0, seed, 120)).overall.sign != 0 for seed in range(60))
    assert wrong <= 10


def test_a_relation_between_layers_alone_is_not_called_scarcity():
    """Things with more values are rarer and fail more here; among equals the count says nothing."""
    rng = np.random.default_rng(4)
    made = scarcity_of(
        [
            subject(
                f"t{number}-{layer}",
                int(10 ** (3 - layer) * rng.uniform(1, 3)),
                int(rng.binomial(10, 0.1 + 0.4 * layer)),
                layer=layer,
                entity=f"e{number}",
            )
            for number in range(50)
            for layer in range(3)
        ]
    )
    assert made.overall.sign == -1
    assert [one.sign for one in made.layers] == [0, 0, 0]
    assert "not among subjects with equally many values" in made.verdict


def test_few_entities_give_way_to_subjects():
    made = scarcity_of([subject(f"t{i}", i, i % 7, entity="cat") for i in range(30)])
    assert (made.overall.unit, made.overall.units) == ("subject", 30)
    one_sided = [subject(f"t{i}", i, i % 7, entity="cat" if i < 80 else f"e{i}") for i in range(100)]
    assert scarcity_of(one_sided).overall.unit == "subject"


def test_equal_counts_say_nothing():
    made = scarcity_of([subject(f"t{i}", 5, i % 10) for i in range(20)])
    assert made.overall.rho is None
    assert "Nothing can be said" in made.verdict
    assert made.frequent_failing == made.rare_passing == []
    render_attribution(made, "painter", "atlas")


def test_exceptions_are_those_against_the_rule_most_certain_first():
    made = scarcity_of(
        [
            subject("rare bad", 0, 9), subject("rare good", 1, 0), subject("rare better", 2, 0, trials=40),
            subject("mid bad", 50, 9), subject("mid good", 60, 0), subject("mid too", 70, 1),
            subject("often bad", 900, 8), subject("often worse", 800, 10), subject("often good", 999, 0),
        ]
    )  # fmt: skip
    assert [one.title for one in made.frequent_failing] == ["often worse", "often bad"]
    assert [one.title for one in made.rare_passing] == ["rare better", "rare good"]
    assert made.frequent_failing[0].e_value == 50.0
    assert made.frequent_failing[0].above == pytest.approx(6 / 9)


subjects = st.lists(
    st.tuples(st.integers(0, 10**7) | st.integers(0, 12), st.integers(0, 10), st.integers(0, 3)), max_size=60
).map(lambda rows: [subject(f"s{i}", c, f, layer=k, entity=f"e{i % 9}") for i, (c, f, k) in enumerate(rows)])


@given(subjects)
def test_every_subject_is_in_one_bin_and_exceptions_do_not_meet(made):
    found = scarcity_of(made)
    assert sum(one.subjects for one in found.bins) == len(made)
    assert sum(one.findings for one in found.bins) == sum(one.finding for one in made)
    frequent, rare = found.frequent_failing, found.rare_passing
    assert not {one.subject for one in frequent} & {one.subject for one in rare}
    if frequent and rare:
        assert min(one.count for one in frequent) > max(one.count for one in rare)
    json.dumps(found.as_data(), allow_nan=False)


@given(st.integers(0, 10**12))
def test_bins_have_no_gaps(most):
    edges = bin_edges(most)
    assert edges[0] == (0, 0)
    assert edges[-1][1] >= most
    assert all(after[0] == before[1] + 1 for before, after in pairwise(edges))


@given(subjects.filter(bool))
def test_thirds_hold_at_least_a_third_each(made):
    rare, frequent = thirds(made)
    assert sum(one.count <= rare for one in made) >= len(made) / 3
    assert sum(one.count >= frequent for one in made) >= len(made) / 3


@given(subjects, st.sampled_from([(1080, 440), (360, 380)]))
def test_dots_stand_for_every_subject_inside_the_drawing(made, size):
    frame = CountFrame(*size, max((one.count for one in made), default=1))
    dots = dots_of(made, frame)
    assert sorted(one.subject for dot in dots for one in dot.members) == sorted(one.subject for one in made)
    for dot in dots:
        assert 46 <= dot.x <= size[0] - 13
        assert 0 <= dot.y <= size[1]
        if len(dot.members) == 1:
            assert (dot.x, dot.y) == pytest.approx(
                (frame.x(dot.members[0].count), frame.y(dot.members[0].rate))
            )
    ET.fromstring(scatter(made, module._bins(made), *size))


@given(st.integers(1, 10**5), st.integers(1, 10**5))
def test_larger_dots_stand_for_more(few, many):
    few, many = sorted((few, many))
    assert radius(few, many) <= radius(many, many) <= 13


def test_the_drawing_stays_small_whatever_there_is():
    rng = np.random.default_rng(0)
    made = [
        subject(f"s{i}", int(10 ** rng.uniform(0, 6)), int(rng.integers(0, 26)), 25) for i in range(20_000)
    ]
    assert len(scatter(made, module._bins(made), 1080, 440)) < 600_000


def test_names_from_elsewhere_are_escaped():
    made = scarcity_of([subject(f"{HOSTILE} {i}", 10**i, 9 if i > 3 else 0) for i in range(6)])
    page = render_attribution(made, HOSTILE, HOSTILE)
    assert "<script" not in page
    assert "{{ 7 * 7 }}" in page
    ET.fromstring(scatter(made.subjects, made.bins, 1080, 440))


def test_a_correlation_is_drawn_on_its_scale():
    bar = ET.fromstring(rho_bar(-0.5, (-1.0, 1.0)))
    span = next(part for part in bar if part.get("class") == "span")
    assert (float(span.get("x")), float(span.get("width"))) == (0, 100)


@pytest.mark.parametrize(
    ("interval", "sign"), [((-0.5, -0.1), -1), ((0.1, 0.5), 1), ((-0.1, 0.5), 0), ((0.0, 0.5), 0)]
)
def test_the_sign_is_clear_only_without_zero(interval, sign):
    assert Relation(None, 9, "entity", 9, 0.2, interval).sign == sign
    assert Relation(None, 9, "entity", 9, None, interval).sign == 0
