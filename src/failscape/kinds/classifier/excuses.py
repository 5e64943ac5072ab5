"""Does a yes of the judge excuse a failure? Only if it depends on the picture. Pure.

When the classifier gives a wrong label, the judge is asked whether the object of that label is in the picture
too. A judge that says yes to everything would excuse every failure. So plain pictures come with a control
question about an object of another class, which nobody asked for.
"""

from __future__ import annotations


class ExcuseControl:
    """Counts how often the judge sees the wrong label's object, and how often one that nobody asked for.

    Of all yes answers after a failure, the share that is owed to saying yes anyway is the ratio of the two
    rates. An excuse is accepted if it is more likely true than not: if that share is at most one half.
    """

    def __init__(self) -> None:
        self._control_yes = 0
        self._controls = 0
        self._excuse_yes = 0
        self._excuses = 0

    def note_control(self, is_seen: bool | None) -> None:
        """The judge's answer about an object that nobody asked for."""
        if is_seen is not None:
            self._controls += 1
            self._control_yes += is_seen

    def note_excuse(self, is_seen: bool | None) -> None:
        """The judge's answer about the object that a wrong label names."""
        if is_seen is not None:
            self._excuses += 1
            self._excuse_yes += is_seen

    @property
    def holds(self) -> bool:
        """Whether a yes excuses a failure. Both rates begin at one half, by one yes and one no each."""
        control_rate = (self._control_yes + 1) / (self._controls + 2)
        excuse_rate = (self._excuse_yes + 1) / (self._excuses + 2)
        return 2 * control_rate <= excuse_rate

    @property
    def sentence(self) -> str:
        """What a user has to know where excuses are asked for and not accepted; "" otherwise."""
        if not self._excuse_yes or self.holds:
            return ""
        controls = f"{self._control_yes:,} of {self._controls:,}"
        return (
            f"no failure is excused: the judge sees the wrong label's object in {self._excuse_yes:,} of "
            f"{self._excuses:,} failures, but also an object that nobody asked for in {controls} plain "
            "pictures, so its yes says nothing"
        )
