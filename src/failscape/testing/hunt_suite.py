"""What every hunt must promise, as tests: subclass `HuntSuite` and give `make_hunt` and `run`.

A hunt is pure, resumes by replay from any cut, asks for nothing twice, and its findings do not waver.
"""

import random

from failscape.search.protocol import Hunt
from failscape.trials import Probe, Trial


class HuntSuite:
    """Name your subclass `Test…`. `order_matters` is for hunts that promise nothing about shuffled replay,
    `adaptive` for those that, knowing what came in meanwhile, may ask for better than was in flight."""

    images = 2_000
    in_flight = 17
    order_matters = False
    adaptive = False

    def make_hunt(self) -> Hunt:
        """A fresh hunt; every call gives the same one."""
        raise NotImplementedError

    def run(self, probe: Probe) -> Trial:
        """The outcome of a probe; the same probe always has the same outcome."""
        raise NotImplementedError

    def play(self, hunt: Hunt, most: int, seed: int = 0) -> tuple[list[Trial], list[Probe]]:
        """Drive a hunt with out-of-order answers; gives the trials told and what is still in flight."""
        order, told, flying = random.Random(seed), list[Trial](), list[Probe]()
        while len(told) < most:
            flying += hunt.ask(self.in_flight - len(flying))
            if not flying:
                break
            trial = self.run(flying.pop(order.randrange(len(flying))))
            hunt.tell(trial)
            told.append(trial)
        return told, flying

    def resumed(self, trials: list[Trial]) -> Hunt:
        hunt = self.make_hunt()
        for trial in trials:
            hunt.tell(trial)
        return hunt

    def test_it_is_a_hunt(self) -> None:
        assert isinstance(self.make_hunt(), Hunt)

    def test_it_asks_at_most_what_it_may(self) -> None:
        hunt = self.make_hunt()
        assert hunt.ask(0) == []
        assert 1 <= len(hunt.ask(3)) <= 3

    def test_no_key_is_asked_for_twice(self) -> None:
        told, flying = self.play(self.make_hunt(), self.images)
        keys = [trial.key for trial in told] + [probe.key for probe in flying]
        assert len(set(keys)) == len(keys)

    def test_the_same_trials_make_the_same_hunt(self) -> None:
        told, _ = self.play(self.make_hunt(), self.images // 2)
        first, second = self.resumed(told), self.resumed(told)
        assert first.findings() == second.findings()
        assert first.progress() == second.progress()
        assert first.ask(50) == second.ask(50)

    def test_looking_changes_nothing(self) -> None:
        told, _ = self.play(self.make_hunt(), self.images // 4)
        plain, watched = self.resumed(told), self.make_hunt()
        for trial in told:
            watched.tell(trial)
            watched.findings()
            watched.progress()
            assert isinstance(watched.done, bool)
        assert watched.findings() == plain.findings()
        assert {probe.key for probe in watched.ask(30)} == {probe.key for probe in plain.ask(30)}

    def test_resuming_from_any_cut_gives_the_same_end(self) -> None:
        whole = self.make_hunt()
        told, flying = self.play(whole, self.images)
        for cut in random.Random(1).sample(range(len(told)), min(5, len(told))):
            hunt = self.resumed(told[:cut])
            rest, left = self.play(hunt, self.images - cut, seed=cut)
            keys = {trial.key for trial in told[:cut]}
            assert not keys & {trial.key for trial in rest}, "a recorded trial was asked for again"
            if not flying and not left and not self.adaptive:  # both ran to their end
                assert hunt.findings() == whole.findings()
                assert {t.key for t in told} == keys | {t.key for t in rest}

    def test_what_was_in_flight_is_asked_for_again(self) -> None:
        if self.adaptive:
            return
        told, flying = self.play(self.make_hunt(), self.images // 3)
        again = {probe.key for probe in self.resumed(told).ask(len(flying) + 4 * self.in_flight)}
        assert {probe.key for probe in flying} <= again

    def test_a_trial_told_twice_counts_once(self) -> None:
        told, _ = self.play(self.make_hunt(), self.images)
        once, twice = self.resumed(told), self.resumed([trial for trial in told for _ in range(2)])
        assert once.findings(), "nothing is compared: the suite needs more `images`"
        assert once.findings() == twice.findings()
        assert once.progress() == twice.progress()
        assert once.ask(30) == twice.ask(30)

    def test_replay_in_another_order_gives_the_same_findings(self) -> None:
        if self.order_matters:
            return
        told, _ = self.play(self.make_hunt(), self.images)
        shuffled = random.Random(3).sample(told, len(told))
        assert self.resumed(shuffled).findings() == self.resumed(told).findings()

    def test_it_ends(self) -> None:
        hunt = self.make_hunt()
        _, flying = self.play(hunt, self.images)
        if not flying and hunt.done:
            assert hunt.ask(10) == []
            assert hunt.progress().findings == len(hunt.findings())
