"""Lines that a certified search says of itself while it runs and when it ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from failscape.kinds.t2i.search import tuning

if TYPE_CHECKING:
    from failscape.kinds.t2i.search.hunt import CertifiedHunt


def mostly_failing(hunt: CertifiedHunt, entities: int) -> str:
    """What to say if most entities fail by themselves: then little is left to be found above them."""
    failing = [slot for slot in hunt.failing if len(hunt.ledger.keys[slot]) == 1]
    if len(failing) * 2 <= entities:
        return ""
    return (
        f"{len(failing)} of {entities} entities fail by themselves at threshold "
        f"{hunt.settings.threshold:g}, and nothing above those is tried: a lower threshold, or "
        "`minimal: tolerant` with a tolerance, looks further"
    )


def why_over(hunt: CertifiedHunt) -> str:
    """One line on why a hunt ended before its budget."""
    shown = f"the rates of all {len(hunt.book):,} findings are known to ± {tuning.SHARP:.0%}"
    if hunt.settings.images is None:
        return f"one more claim would take over {tuning.TOO_DEAR:,} images, and {shown}: the hunt is over"
    return f"nothing that is left could change a claim, and {shown}: the hunt is over before its budget"
