"""Images that do not follow the search: a random sample, the audit of the list, and findings tried again.

The hunt over a lattice and the hunt over a list of prompts draw them by the same rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from failscape.kinds.t2i.survey.judge_view import REPLICATED_IMAGES, Draws
from failscape.kinds.t2i.survey.list_audit import AUDIT_WITHOUT_BUDGET, STRIDE, AuditCase, ListAuditDraws
from failscape.spaces.lattice import Node
from failscape.trials import Trial


class NextTry(NamedTuple):
    """A try of a subject: `stream` and `number` are those of its key."""

    subject: str
    stream: str
    number: int


class UnguidedImages:
    """The panel keeps pace with the search. The audit tests the list near the end of the budget, or when the
    search is over, and needs a list that does not move meanwhile."""

    def __init__(
        self, panel: Draws, seed: int, *, images: int | None, panel_share: float, audit_share: float
    ) -> None:
        """`images` is the budget, if there is one; the shares are parts of it."""
        self.panel = panel
        self.audit = ListAuditDraws(seed)
        #: Findings that were tried again before there were audits.
        self.replicates = Draws("r", REPLICATED_IMAGES)
        self._images = images
        self._panel_share = panel_share
        self._audit_share = audit_share
        self._list_moved = True

    @property
    def in_flight(self) -> int:
        return self.panel.in_flight + self.audit.in_flight

    @property
    def asked(self) -> int:
        return self.panel.asked + self.replicates.asked + self.audit.asked

    # Telling

    def is_of_audit(self, stream: str, number: int) -> bool:
        """Before there were audits, findings were tried again in the same stream and smaller numbers."""
        return stream == self.replicates.mark and number >= STRIDE

    def tell_draw(self, trial: Trial, stream: str, number: int, node: Node) -> bool:
        """Count an image of the panel or of a finding tried again; false if it was told before."""
        draws = self.panel if stream == self.panel.mark else self.replicates
        # An earlier session with another budget may have drawn others: they are as good.
        draws.add(trial.subject, node)
        return draws.tell(trial, number)

    def note_search(self) -> None:
        """An image of the search was told: the list may change."""
        self._list_moved = True

    # The panel

    def next_of_panel(self, asked: int, due: bool = False) -> NextTry | None:
        """`asked` are all images of the hunt so far: a run that is cut short has its share of the panel.
        Once the search is over, the rest is `due`."""
        if not due and self.panel.asked >= self._panel_share * (asked + 1):
            return None
        drawn = None if self.panel.complete else self.panel.next_try()
        return None if drawn is None else NextTry(drawn[0], self.panel.mark, drawn[2])

    # The audit

    @property
    def audited(self) -> bool:
        """Is there to be an audit at all?"""
        return self._audit_share > 0

    @property
    def audit_begins(self) -> int | None:
        """Trials after which the list is audited; None without a budget, or without an audit."""
        if self._images is None or not self.audited:
            return None
        return self._images - round(self._audit_share * self._images)

    @property
    def audit_stands(self) -> bool:
        """Is the audit that has begun one of the list as it is now, or the one of this budget?"""
        begins = self.audit_begins
        of_budget = begins is not None and self.audit.since >= begins
        return self.audit.begun and (of_budget or not self._list_moved)

    @property
    def audit_over(self) -> bool:
        return self.audit_stands and not self.audit.running

    def audit_is_due(self, trials: int) -> bool:
        """From here on images of the search would move the list while it is audited."""
        begins = self.audit_begins
        return begins is not None and trials >= begins and not self.audit_over

    def audit_should_begin(self, told: int) -> bool:
        """Asked when a trial is told and not when a probe is asked for: so the audit depends on the trials
        alone, and a replay begins it at the same moment."""
        begins = self.audit_begins
        return begins is not None and told >= begins and not self.audit_stands

    def begin_audit(self, cases: Sequence[AuditCase], since: int) -> None:
        """`cases` are the list, the surest first, as it was after `since` trials."""
        self._list_moved = False
        paid = AUDIT_WITHOUT_BUDGET if self._images is None else round(self._audit_share * self._images)
        self.audit.begin(cases, paid, since)

    def next_of_audit(self) -> NextTry | None:
        drawn = self.audit.next_try()
        return None if drawn is None else NextTry(drawn[0], self.replicates.mark, drawn[1])
