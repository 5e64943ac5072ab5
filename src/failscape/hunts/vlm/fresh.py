"""Fresh questions of a mode: other pictures, other words, as its confirmation asked them. Pure."""

import random

from failscape.hunts.fresh import MakeTry, Plans, key_of
from failscape.hunts.rounds import Work
from failscape.hunts.vlm.build import judges_edits, make_grammar
from failscape.hunts.vlm.config import VlmConfig
from failscape.hunts.vlm.items import Item
from failscape.hunts.vlm.outcomes import CONFIRM
from failscape.spaces.questions import Pattern


def fresh_questions(config: VlmConfig, plans: Plans) -> MakeTry:
    """Recorded steps hold one picture each, so the grammar makes new ones."""
    grammar, _ = make_grammar(config)
    judged = judges_edits(config)

    def make(subject: str, number: int) -> Work | None:
        pattern = Pattern.parse(subject)
        work = grammar.draft(pattern, random.Random(f"{config.seed}/fresh/{subject}/{number}"), True)
        if work is None:
            return None
        key = key_of(subject, number)
        return Item(key, 0, CONFIRM, pattern, work, config.seed, grammar, 1, config.turns, judged)

    return make
