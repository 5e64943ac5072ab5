"""The verdict rule, and probes as JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.trials import (
    Answer,
    Check,
    Classify,
    Decide,
    Generate,
    Probe,
    Show,
    Trial,
    Verdict,
    Verify,
    derive_seed,
    reach_verdict,
    steps_from_json,
    steps_to_json,
)

CAT = Check("entity", "cat", "It is a cat.")
RED = Check("Base: Colour", "red", "It is red.", choices=("blue", "green"))
VISIBLE = Check("presence", "cat", "A cat is visible.", gate=True)


@pytest.mark.parametrize(
    ("facts", "verdict", "reason"),
    [
        ([True, True], Verdict.PASS, ""),
        ([True, False], Verdict.FAIL, "not red"),
        ([False, False], Verdict.FAIL, "not cat, not red"),
        ([True, None], Verdict.INVALID, "undecided: red"),
    ],
)
def test_checks_decide_a_drawing(facts: list[bool | None], verdict: Verdict, reason: str) -> None:
    steps = (Generate("a red cat"), Decide((CAT, RED)))
    assert reach_verdict(steps, ["digest", facts]) == (verdict, reason)


def test_a_closed_gate_makes_the_trial_invalid_whatever_the_label() -> None:
    steps = (Generate("a cat"), Decide((VISIBLE,)), Classify(("cat",)))
    assert reach_verdict(steps, ["digest", [False], [["dog", 0.9]]])[0] is Verdict.INVALID
    assert reach_verdict(steps, ["digest", [True]])[0] is Verdict.NONE
    assert reach_verdict(steps, ["digest", [True], [["dog", 0.9]]]) == (Verdict.FAIL, "called dog")
    assert reach_verdict(steps, ["digest", [True], [["cat", 0.9]]]) == (Verdict.PASS, "")


def test_top_k_and_aimed_labels() -> None:
    ranking = [["dog", 0.6], ["cat", 0.3], ["cow", 0.1]]
    assert reach_verdict((Classify(("cat",), top_k=2),), [ranking])[0] is Verdict.PASS
    assert reach_verdict((Classify(("cat",), aim=("cow",)),), [ranking])[0] is Verdict.PASS
    assert reach_verdict((Classify(("cat",), aim=("dog",)),), [ranking])[0] is Verdict.FAIL
    assert reach_verdict((Classify(("cat",), top_k=2, aim=("cat",)),), [ranking])[0] is Verdict.PASS
    assert reach_verdict((Classify(("cat",), top_k=2, aim=("dog",)),), [ranking])[0] is Verdict.FAIL
    assert reach_verdict((Classify(("cat",)),), [[]])[0] is Verdict.INVALID


@pytest.mark.parametrize("order", [(True, False), (False, True), (True, False, True)])
def test_one_failed_step_fails_the_trial_whatever_passes_before_or_after(order: tuple[bool, ...]) -> None:
    steps = [Decide((CAT,)) for _ in order]
    assert reach_verdict(steps, [[holds] for holds in order]) == (Verdict.FAIL, "not cat")


def test_an_invalid_step_outweighs_a_failed_one_and_reasons_of_failures_add_up() -> None:
    steps = (Decide((CAT,)), Decide((RED,)), Verify())
    assert reach_verdict(steps, [[False], [False], [True, True, ""]]) == (Verdict.FAIL, "not cat; not red")
    assert reach_verdict(steps, [[False], [True], [None, None, "unsure"]]) == (Verdict.INVALID, "unsure")


@pytest.mark.parametrize(
    ("fact", "verdict"),
    [
        ([True, True, ""], Verdict.PASS),
        ([True, False, "it is blue"], Verdict.FAIL),
        ([False, False, "two questions"], Verdict.INVALID),
        ([True, None, ""], Verdict.INVALID),
    ],
)
def test_a_verifier_decides_an_answer(fact: list[object], verdict: Verdict) -> None:
    steps = (Show(("digest",)), Answer("What colour?"), Verify())
    assert reach_verdict(steps, [["digest"], "red", fact])[0] is verdict


def test_steps_survive_json() -> None:
    steps = (Generate("a cat"), Decide((CAT, RED, VISIBLE)), Classify(("cat", "kitty"), 3), Verify("red"))
    assert steps_from_json(steps_to_json(steps)) == steps


@given(st.text(max_size=40), st.lists(st.text(max_size=9), max_size=4))
def test_any_text_survives_json(prompt: str, choices: list[str]) -> None:
    steps = (Generate(prompt), Decide((Check("k", prompt, prompt, tuple(choices)),)))
    assert steps_from_json(steps_to_json(steps)) == steps


def test_seeds_are_shared_by_siblings_and_differ_by_index_and_run() -> None:
    seeds = {derive_seed(run, index) for run in range(20) for index in range(50)}
    assert len(seeds) == 1000
    assert derive_seed(7, 3) == derive_seed(7, 3)
    assert all(0 <= seed < 2**31 for seed in seeds)


def test_a_replayed_trial_equals_the_told_one() -> None:
    told = Trial("cat#0", "cat", Verdict.FAIL, "not cat", ["digest", [False]], 5)
    replayed = Trial("cat#0", "cat", Verdict.FAIL, "not cat", None, 5, text=told.text)
    assert replayed == told
    assert replayed.facts == json.loads(told.text)


def test_a_probe_counts_the_images_it_will_draw() -> None:
    assert Probe("k", "s", (Generate("a"), Generate("b"), Decide((CAT,)))).images == 2
    assert Probe("k", "s", (Show(("digest",)), Answer("?"))).images == 0


def test_a_check_in_words_is_its_statement() -> None:
    assert str(RED) == f"{RED}" == "It is red."
    assert "blue" in repr(RED)
