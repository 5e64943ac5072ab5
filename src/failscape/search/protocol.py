"""The contract between a hunt and the rest: ask, tell, done, findings, progress; and what else it may say.

A hunt is pure: it does no I/O, reads no clock and uses no global randomness. Told the same trials in the
same order, two hunts of the same settings give the same findings and ask for the same probes. Resuming a
run is therefore nothing but telling a fresh hunt every recorded trial.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from failscape.errors import ConfigError
from failscape.spaces.earlier import Earlier
from failscape.trials import AsData, Finding, Probe, Progress, Purpose, Trial


class Content(NamedTuple):
    """Something a hunt reads besides its settings: `kind` (corpus, images …), where it is, its digest.

    `text` is its whole content, where the atlas shall keep a copy of that.
    """

    kind: str
    source: str
    digest: str
    text: str = ""


class Hunt(ABC):
    """A strategy working against one target. The runtime calls it from one thread.

    The first five are needed. The others have nothing to say unless a hunt overrides them.
    """

    #: Whether a trial is only its own if the verdicts before it make it ask for it: hunts in rounds.
    plans_by_verdicts = False

    @abstractmethod
    def ask(self, count: int) -> list[Probe]:
        """Up to `count` probes to try now; each is in flight until it is told.

        An empty list means: wait for what is in flight, or, with nothing in flight, the hunt is over.
        What was in flight when a run died was never told, so a resumed hunt asks for it again.
        """

    @abstractmethod
    def tell(self, trial: Trial) -> None:
        """Learn from one trial. The atlas has it already. Trials of unknown subjects are an error."""

    @property
    @abstractmethod
    def done(self) -> bool:
        """True when there is nothing left to ask, whatever the budget."""

    @abstractmethod
    def findings(self) -> list[Finding]:
        """What has been found so far, most certain first."""

    @abstractmethod
    def progress(self) -> Progress: ...

    def suspects(self) -> list[Finding]:
        """What looks failing but is not claimed, most promising first; each says what is missing."""
        return []

    def decided(self) -> dict[str, bool]:
        """Subject → whether it passes, where that is decided."""
        return {finding.subject: False for finding in self.findings()}

    def predicted(self) -> dict[str, float]:
        """Subject → what a predictor said of it before it was tried, where the strategy has one."""
        return {}

    def undecided(self) -> list[str]:
        """Subjects that used up their trials without a verdict."""
        return []

    def purposes(self) -> dict[str, Purpose]:
        """Key of a trial → why it was made, where the key has no letter that tells (`HuntKind.purposes`)."""
        return {}

    def excused(self) -> list[str]:
        """Keys of trials that failed and count as passed all the same, for what was learned of them later."""
        return []

    def counted_as_asked(self) -> list[str]:
        """Keys of trials that count although the judge did not see something that was only noted."""
        return []

    def survey(self) -> AsData | None:
        """What it has to say about the whole space."""
        return None

    def notices(self) -> list[str]:
        """What a user should be told while it runs, in order; the list only grows."""
        return []

    def expect(self, subject: str, trials: int, passed: bool) -> None:  # noqa: B027 - most expect nothing
        """Take a verdict that another program reached; said before the trials are told."""

    def begin_with(self, earlier: Earlier) -> None:
        """Take what an earlier hunt saw as a proposal of what to try; said before the first trial is told."""
        raise ConfigError(
            "`warm_start` is for hunts that choose what to try: this one tries all there is, in an order of "
            "its own",
            "take `warm_start` out, or name a strategy that chooses (t2i: `listed` or `certified`)",
        )

    def hear_people(self, said: Mapping[str, bool | None]) -> None:  # noqa: B027 - most have no use for it
        """What people said of single trials, by key: failed, passed, or None where they could not tell.

        It may change what is told of findings, never what is asked: labels come at any time.
        """

    def lessons(self) -> list[Any]:
        """What a questioner in training can learn from so far."""
        return []

    def begun(self) -> list[Any]:
        """Lessons that were recorded in part when an earlier session ended."""
        return []


def replay(hunt: Hunt, trials: Iterable[Trial]) -> int:
    """Tell a fresh hunt every recorded trial, in order. Returns how many there were."""
    count = 0
    for count, trial in enumerate(trials, 1):  # noqa: B007
        hunt.tell(trial)
    return count
