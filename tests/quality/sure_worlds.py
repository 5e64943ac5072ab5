"""Models without luck: what fails in them always fails, and all else always works.

There an honest search makes no false claim, whatever its rules are, so a test of it can fail for one reason.
"""

from __future__ import annotations

from collections.abc import Callable

from failscape.search.protocol import Hunt
from failscape.trials import Decide, Probe, Trial, reach_verdict


def told(probe: Probe, passes: bool) -> Trial:
    """The trial of a t2i probe whose checks all hold, or none does."""
    facts = [[passes] * len(step.checks) if isinstance(step, Decide) else "image" for step in probe.steps]
    verdict, reason = reach_verdict(probe.steps, facts)
    return Trial(probe.key, probe.subject, verdict, reason, facts, probe.seed)


def play(
    hunt: Hunt,
    fails: Callable[[str], bool],
    images: int,
    after: Callable[[list[Trial]], None] = lambda trials: None,
) -> int:
    """Spend up to `images` where the subjects that `fails` names always fail. Says how many were spent.

    `after` gets the trials of each round of at most 32 images, when the hunt has heard them.
    """
    spent = 0
    while spent < images and (probes := hunt.ask(min(32, images - spent))):
        trials = [told(probe, not fails(probe.subject)) for probe in probes]
        for trial in trials:
            hunt.tell(trial)
        spent += len(probes)
        after(trials)
    return spent
