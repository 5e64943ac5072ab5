"""Fresh tries: enough failures of each subject, no more tries than needed, the same after a restart."""

from __future__ import annotations

from types import SimpleNamespace

from failscape.search.fresh import FreshTries, fresh_seed, recorded_tries
from failscape.search.protocol import replay
from failscape.trials import (
    FIRST_FRESH_NUMBER,
    Check,
    Decide,
    Generate,
    Probe,
    Show,
    Trial,
    Verdict,
    derive_seed,
)

CONFIG = SimpleNamespace(seed=7, hunt="t2i")
CHECK = Decide((Check("entity", "cat", "It is a cat."),))
PLANS = {
    "cat": [(Generate("a cat"), CHECK), (Generate("one cat"), CHECK)],
    "dog": [(Generate("a dog"), CHECK)],
    "photo": [(Show(("d" * 32,)), CHECK)],
}


def told(probe: Probe) -> Trial:
    """Dogs always fail, every third cat does."""
    fails = probe.subject == "dog" or (int(probe.key.rpartition("#r")[2]) - FIRST_FRESH_NUMBER) % 3 == 0
    verdict = Verdict.FAIL if fails else Verdict.PASS
    return Trial(probe.key, probe.subject, verdict, seed=probe.seed)


def run(hunt: FreshTries, most: int = 10_000) -> list[Trial]:
    trials: list[Trial] = []
    while not hunt.done and len(trials) < most:
        probes = hunt.ask(4)
        assert probes, "not done, and yet nothing to ask"
        for probe in probes:
            trials.append(told(probe))
            hunt.tell(trials[-1])
    return trials


def make(failures: int = 5, most: int = 100) -> FreshTries:
    return FreshTries(list(PLANS), recorded_tries(CONFIG, PLANS), failures, most)


def test_each_subject_gets_its_failures_and_no_more() -> None:
    hunt = make()
    trials = run(hunt)
    fails = [trial.subject for trial in trials if trial.verdict is Verdict.FAIL]
    assert {subject: fails.count(subject) for subject in set(fails)} == {"cat": 5, "dog": 5}
    assert hunt.short() == {"photo": 0}, "a photo cannot be drawn anew"
    assert len({trial.key for trial in trials}) == len(trials)


def test_subjects_share_seeds_and_the_search_has_none_of_them() -> None:
    trials = run(make())
    seeds = {name: [one.seed for one in trials if one.subject == name] for name in ("cat", "dog")}
    assert seeds["cat"][:5] == seeds["dog"]
    assert not {fresh_seed(7, n) for n in range(2000)} & {derive_seed(7, n) for n in range(2000)}


def test_recorded_wordings_take_turns() -> None:
    probes = make().ask(8)
    said = [probe.steps[0] for probe in probes if probe.subject == "cat"]
    assert said[:2] == [Generate("a cat"), Generate("one cat")]


def test_a_restart_goes_on_and_repeats_nothing() -> None:
    first = run(make(), most=7)
    hunt = make()
    replay(hunt, first)
    rest = run(hunt)
    whole = run(make())
    assert {one.key for one in first} & {one.key for one in rest} == set()
    assert sorted(one.key for one in [*first, *rest]) == sorted(one.key for one in whole)


def test_tries_end_where_nothing_fails() -> None:
    hunt = FreshTries(["cat"], recorded_tries(CONFIG, PLANS), failures=50, most=12)
    assert len(run(hunt)) == 12
    assert hunt.short() == {"cat": 4}
