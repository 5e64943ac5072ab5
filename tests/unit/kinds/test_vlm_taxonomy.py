"""The tree of failures: counts add up, names that mean the same are one, targets are compared."""

from __future__ import annotations

from failscape.kinds.vlm.outcomes import QuestionOutcome
from failscape.kinds.vlm.purposes import SEARCH
from failscape.kinds.vlm.taxonomy import compare, grow, meta_skill
from failscape.models.contracts.language import DefinitionContract, SkillsContract
from failscape.spaces.questions import Pattern, make_pattern
from failscape.trials import Verdict

COUNT = make_pattern("count", ["counting"])
HOP = make_pattern("hop", ["relation", "two-hop"], [("relation", "below")])


def outcome(pattern: Pattern, verdict: Verdict, text: str = "?") -> QuestionOutcome:
    return QuestionOutcome("0.0", SEARCH, pattern, pattern, verdict, text)


def test_counts_add_up_and_invalid_questions_are_left_out() -> None:
    verdicts = [Verdict.FAIL, Verdict.PASS, Verdict.PASS, Verdict.INVALID]
    tree = grow([outcome(p, v) for p in (COUNT, HOP) for v in verdicts]).frozen(
        {"hop | relation, two-hop": "failing"}
    )
    assert (tree.failures, tree.trials) == (2, 6)
    assert {child.name for child in tree.children} == {"quantity", "space"}
    leaf = next(child for child in tree.children if child.name == "space").children[0].children[0]
    assert leaf.state == "failing"
    assert len(leaf.examples) == 1


def test_the_family_is_that_of_the_most_demanding_skill() -> None:
    assert meta_skill(["colour", "negation"]) == "reasoning"
    assert meta_skill([]) == "other"


def test_a_model_may_name_the_skills() -> None:
    contract = SkillsContract()
    assert contract.read('{"skills": ["Counting ", "colour", "counting"]}').value == ["counting", "colour"]
    assert contract.read("I would say counting").value is None
    definition = DefinitionContract()
    assert definition.read('{"definition": "how many", "takes": [true]}', 1).value == ("how many", [True])
    assert definition.read('{"definition": "how many", "takes": [true]}', 2).value is None


def test_universal_modes_come_first() -> None:
    shared = compare({"a": [COUNT, HOP], "b": [COUNT]})
    assert list(shared.items()) == [(COUNT.text, ["a", "b"]), (HOP.text, ["a"])]
