"""The contract between a hunt and the runtime: ask, tell, done, findings, progress.

A hunt is pure: it does no I/O, reads no clock and uses no global randomness. Told the same trials in the
same order, two hunts of the same settings give the same findings and ask for the same probes. Resuming a
run is therefore nothing but telling a fresh hunt every recorded trial.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, Protocol, runtime_checkable

from failscape.trials import Finding, Probe, Progress, Trial


class Content(NamedTuple):
    """Something a hunt reads besides its settings: `kind` (corpus, images …), where it is, its digest."""

    kind: str
    source: str
    digest: str


@runtime_checkable
class Hunt(Protocol):
    """A strategy working against one target. The runtime calls it from one thread."""

    def ask(self, count: int) -> list[Probe]:
        """Up to `count` probes to try now; each is in flight until it is told.

        An empty list means: wait for what is in flight, or, with nothing in flight, the hunt is over.
        What was in flight when a run died was never told, so a resumed hunt asks for it again.
        """
        ...

    def tell(self, trial: Trial) -> None:
        """Learn from one trial. The atlas has it already. Trials of unknown subjects are an error."""
        ...

    @property
    def done(self) -> bool:
        """True when there is nothing left to ask, whatever the budget."""
        ...

    def findings(self) -> list[Finding]:
        """What has been found so far, most certain first."""
        ...

    def progress(self) -> Progress: ...


def replay(hunt: Hunt, trials: Iterable[Trial]) -> int:
    """Tell a fresh hunt every recorded trial, in order. Returns how many there were."""
    count = 0
    for count, trial in enumerate(trials, 1):  # noqa: B007
        hunt.tell(trial)
    return count
