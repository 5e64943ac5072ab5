"""`failscape init --hunt t2i`: the first config of a text-to-image model."""

from collections.abc import Mapping
from typing import Any

from failscape.spaces.corpus import load_corpus
from failscape.spaces.lattice import Lattice
from failscape.starting.asking import ConfigAsker, settle_corpus, settle_helper, settle_target, with_eyes
from failscape.starting.drafts import ConfigDraft, RoleDraft, first_budget

#: A corpus of more entities is sampled at first.
MOST_ENTITIES = 200


def draft(asker: ConfigAsker, flags: Mapping[str, Any]) -> ConfigDraft:
    target = settle_target(asker, "generator", "the text-to-image model", flags)
    judge = settle_helper(asker, "judge", "the judge", flags, "judge", with_eyes(target))
    name = settle_corpus(asker, flags, target)
    corpus = load_corpus(name)
    entities = "sample" if len(corpus.entities) > MOST_ENTITIES else "all"
    count = len(Lattice(corpus, entities, depth=0))
    return t2i_draft(target, judge, name, entities, count, flags["images"])


def t2i_draft(
    target: RoleDraft, judge: RoleDraft, corpus: str, entities: Any, count: int, images: int | None
) -> ConfigDraft:
    space = {"corpus": corpus, "entities": entities, "depth": 2}
    return ConfigDraft(
        "t2i",
        {
            "target": (target, "the text-to-image model under test"),
            "judge": (judge, "a vision-language model that says what is in a picture"),
        },
        {
            "space": (space, "general, starter, toybox or a folder; all, sample or a list; most values"),
            "search": ({"threshold": 0.8, "fdr": 0.05}, "fails: below 80 %; at most 5 % of findings false"),
            "budget": ({"images": images or first_budget(count)}, "also: requests, seconds, money"),
            "seed": (7, ""),
        },
    )
