"""Rules are shown with pictures of nodes that they cover, and of those that they do not."""

import pytest

from failscape.kinds.t2i.page import EXAMPLES, EXCEPTIONS, LISTED, PICTURED, pictures_of, rule_cards
from failscape.kinds.t2i.survey.survey import Rule, Share
from failscape.trials import Verdict
from failscape.views.read import Shot

RED = "Base: Colour=red"


def shot(key, verdict=Verdict.FAIL, images=True):
    return Shot(key, 1, verdict, "", (f"picture of {key}",) if images else (), (), (), ())


class Reader:
    """Knows the trials of some subjects."""

    def __init__(self, **shots):
        self.known = {name.replace("_", " "): found for name, found in shots.items()}
        self.asked = []

    def shots(self, subject):
        self.asked.append(subject)
        return self.known.get(subject.split(";")[0], (shot(subject),))


def rule(**more):
    given = {"scope": "class", "who": "animals", "values": (RED,), "covers": 20, "certified": 9}
    return Rule(**{**given, **more})


def test_names_leave_out_what_the_rule_says_anyway():
    examples = (f"cat; {RED}", f"dog; {RED}; Image: Style=sketch")
    (card,) = rule_cards([rule(examples=examples)], Reader())
    assert (card.who, card.values) == ("animals", ["red"])
    assert [one.name for one in card.examples] == ["cat", "dog, sketch"]


def test_a_rule_about_everything_and_one_about_a_thing():
    everything, thing = rule_cards(
        [rule(scope="", who=""), rule(scope="entity", who="cat", values=(), examples=(f"cat; {RED}",))],
        Reader(),
    )
    assert (everything.who, everything.scope) == ("everything", "")
    assert [one.name for one in thing.examples] == ["red"]


def test_pictures_have_the_verdict_of_their_node():
    reader = Reader(
        cat=(shot("lucky", Verdict.PASS), shot("typical")), dog=(shot("unlucky"), shot("fine", Verdict.PASS))
    )
    (card,) = rule_cards([rule(examples=("cat",), exceptions=("dog",))], reader)
    assert card.examples[0].shot.key == "typical"
    assert card.passing[0].shot.key == "fine"
    assert pictures_of([card]) == ("picture of typical", "picture of fine")


def test_nodes_without_pictures_are_named():
    reader = Reader(cat=(), dog=(shot("dog", images=False),), owl=())
    (card,) = rule_cards([rule(examples=("cat",), exceptions=("dog", "owl"))], reader)
    assert card.examples == card.passing == []
    assert card.others == ["dog", "owl"]


def test_what_is_shown_is_bounded():
    many = [
        rule(
            values=(f"Base: Kind {at}=red",),
            examples=tuple(f"cat {n}" for n in range(99)),
            exceptions=tuple(f"dog {n}" for n in range(99)),
        )
        for at in range(200)
    ]
    reader = Reader()
    cards = rule_cards(many, reader)
    assert len(cards) == LISTED
    assert len(pictures_of(cards)) == PICTURED * (EXAMPLES + EXCEPTIONS)
    assert len(reader.asked) == PICTURED * (EXAMPLES + EXCEPTIONS)
    assert cards[0].exceptions == 99


def test_held_out_precision_is_kept_with_its_interval():
    (card,) = rule_cards([rule(held_out=Share(11.4, 12, (0.62, 1.0)))], Reader())
    assert card.held_out.rate == pytest.approx(0.95)
    assert card.held_out.interval == (0.62, 1.0)
    assert card.held_out.words == "11.4 of 12 nodes"
    (untested,) = rule_cards([rule(held_out=Share(0, 0, (0.0, 1.0)))], Reader())
    assert untested.held_out is None


def test_a_rule_may_ask_for_further_values():
    deeper, shallow = rule_cards([rule(layer=3), rule(layer=1)], Reader())
    assert (deeper.more, shallow.more) == (2, 0)


def test_rules_that_say_the_same_are_told_once():
    one, two = rule(who="animals"), rule(who="food", certified=4, exceptions=("apple",))
    (card,) = rule_cards([one, two], Reader())
    assert (card.who, card.values) == ("animals, food", ["red"])
    assert (card.covers, card.certified, card.exceptions) == (40, 13, 1)


def test_values_of_one_kind_are_joined_and_other_kinds_are_not():
    colours = [
        rule(values=(RED, "Base: Size=large"), layer=2),
        rule(values=(RED, "Base: Size=small"), layer=2),
    ]
    cards = rule_cards([*colours, rule(values=("Image: Style=sketch",))], Reader())
    assert [card.values for card in cards] == [["red", "large or small"], ["sketch"]]
    assert [card.certified for card in cards] == [18, 9]


def test_held_out_nodes_of_merged_rules_add_up():
    shares = [Share(9, 10, (0.5, 1.0)), Share(7, 10, (0.3, 0.9))]
    (card,) = rule_cards(
        [rule(who=who, held_out=one) for who, one in zip("ab", shares, strict=True)], Reader()
    )
    assert card.held_out.rate == pytest.approx(0.8)
    assert card.held_out.interval[0] < 0.8 < card.held_out.interval[1]


def test_rules_of_different_scope_are_not_joined():
    assert len(rule_cards([rule(who="animals"), rule(scope="entity", who="cat")], Reader())) == 2
