"""The open list of skills: merged, checked, limited; and what pictures without a caption show."""

from __future__ import annotations

import pytest

from failscape.spaces.photo_features import LOOKS_FOR, common_things, photo_features, seen_features
from failscape.spaces.skills import SKILLS
from failscape.spaces.vocabulary import (
    EMBEDDER,
    HASHED_WORDS,
    MOST_TAKEN,
    SUPPORT,
    SkillVocabulary,
    mined_names,
)


def test_five_hundred_names_for_one_idea_are_one_skill() -> None:
    vocabulary = SkillVocabulary(SKILLS)
    forms = ("counting of objects {}", "object counting {}", "count items, variant {}", "counts {}")
    for number in range(500):
        vocabulary.learn(f"How many {number}?", [forms[number % 4].format(number)])
    assert vocabulary.names == SKILLS
    assert vocabulary.merged_by == HASHED_WORDS
    (counting,) = [one for one in vocabulary.skills if one.texts]
    assert (counting.name, len(counting.names)) == ("counting", 500)
    assert vocabulary.resolve(["object counting 17"]) == ("counting",)


def test_an_embedder_merges_what_words_cannot() -> None:
    vocabulary = SkillVocabulary(["counting", "colour"])
    vocabulary.use_vectors([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert vocabulary.merged_by == EMBEDDER
    for number in range(SUPPORT):
        vocabulary.learn(f"q{number}", ["enumeration", "brand"], [[0.9, 0.1, 0.0], [0.0, 0.0, 1.0]])
    assert vocabulary.resolve(["enumeration"]) == ("counting",)
    assert vocabulary.resolve(["brand"]) == ("brand",)


def test_a_new_skill_is_taken_up_only_with_a_definition_that_tells_questions_apart() -> None:
    for told, taken in ((True, True), (False, False)):
        vocabulary = SkillVocabulary(["colour"], checked=True)
        for number in range(4):
            vocabulary.learn(f"what brand {number}?", ["brand"])
            vocabulary.learn(f"what colour {number}?", ["colour"])
        assert vocabulary.resolve(["brand"]) == ()
        (check,) = vocabulary.to_check()
        assert vocabulary.to_check() == [], "each is checked once"
        said = [takes if told else not takes for takes in check.takes]
        vocabulary.decide(check.name, "who made it", said, check)
        assert (vocabulary.resolve(["brand"]) == ("brand",)) is taken
        brand = next(one for one in vocabulary.skills if one.name == "brand")
        assert bool(brand.refused) is not taken


def test_no_more_new_skills_than_a_search_can_use() -> None:
    vocabulary = SkillVocabulary([])
    for number in range(MOST_TAKEN + 40):
        word = "".join(chr(97 + int(digit)) for digit in f"{number:04d}")
        for again in range(SUPPORT):
            vocabulary.learn(f"{word} {again}", [f"{word}xyz"])
    assert len(vocabulary.names) <= MOST_TAKEN


def test_a_closed_list_learns_nothing() -> None:
    vocabulary = SkillVocabulary(["colour"], open_=False)
    vocabulary.learn("what brand?", ["brand"])
    assert vocabulary.names == ("colour",)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Which brand is the laptop?", ("brand",)),
        ("What kind of weather is it?", ("weather",)),
        ("How many dogs are there?", ()),
        ("What colour is it?", ()),
    ],
)
def test_questions_name_what_they_ask_for(text: str, names: tuple[str, ...]) -> None:
    assert mined_names(text) == names


def test_photos_have_clauses_from_captions_and_from_a_judge() -> None:
    captions = [f"two dogs on a beach, number {n}" if n % 2 else f"a cat in a room {n}" for n in range(10)]
    things = common_things(captions)
    assert {"dog", "beach", "cat", "room"} <= things
    found = photo_features([captions[1]], {}, things)
    assert ("shows", "dog") in found
    assert ("number", "two") in found
    assert ("setting", "outdoors") in found
    seen = seen_features([check.value == "night" or check.kind == "text" for check in LOOKS_FOR])
    assert set(photo_features([], {}, things, seen)) == {("light", "night"), ("text", "yes")}
    assert photo_features([]) == ()
