"""Fresh questions of a mode: other pictures, other words, as its confirmation asked them. Pure."""

import random

from failscape.kinds.vlm.build import judges_edits, make_grammar
from failscape.kinds.vlm.config import VlmConfig
from failscape.kinds.vlm.items import Item
from failscape.kinds.vlm.purposes import CONFIRMATION
from failscape.plugins import kind_of
from failscape.search.fresh import MakeTry, Plans, fresh_key
from failscape.search.rounds import Work
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
        key = fresh_key(kind_of(config), subject, number)
        return Item(key, 0, CONFIRMATION, pattern, work, config.seed, grammar, 1, config.turns, judged)

    return make
