"""Prompts, clauses and sentences of the classifier hunt."""

from __future__ import annotations

import pytest

from failscape.errors import ConfigError
from failscape.kinds.classifier.candidates import CorpusCandidates
from failscape.kinds.classifier.clause_mining import Words, about_it, parse_list
from failscape.kinds.classifier.prompts import Clause, Description, Template, clause_of, describe, said_clause
from failscape.kinds.classifier.sentences import many, points, sentence
from failscape.kinds.classifier.tallies import Target
from failscape.spaces.corpus import load_corpus

STARTER = load_corpus("starter")
TOYBOX = load_corpus("toybox")
TEMPLATE = Template("a realistic photograph of a {class} ({superclass}).")


def clause(label: str, corpus=STARTER) -> Clause:
    return next(clause_of(value) for value in corpus.values if value.label == label)


@pytest.mark.parametrize(
    ("labels", "expected"),
    [
        ([], "a realistic photograph of an owl (bird)."),
        (["Base: Colour=red"], "a realistic photograph of a red owl (bird)."),
        (["Background: Place=snow"], "a realistic photograph of an owl (bird) in the snow."),
        (["Image: Style=pencil sketch"], "a pencil sketch of an owl (bird)."),
        (["Base: Count=three"], "a realistic photograph of three owls (bird)."),
        (
            ["Base: Colour=red", "Background: Place=snow", "Image: Style=cartoon"],
            "a cartoon of a red owl (bird) in the snow.",
        ),
    ],
)
def test_clauses_are_worked_into_the_template(labels: list[str], expected: str) -> None:
    assert TEMPLATE.prompt("owl", "bird", [clause(label) for label in labels]) == expected


def test_sentences_come_last_and_superclasses_may_be_missing() -> None:
    said = said_clause("it is walking in the snow.")
    assert TEMPLATE.prompt("Persian cat", "", [said]) == (
        "a realistic photograph of a Persian cat. It is walking in the snow."
    )
    assert Template("{a class}, studio light").prompt("owl", "bird") == "an owl, studio light"


@pytest.mark.parametrize("text", ["a photo", "{class} and {class}", "{class} of {colour}"])
def test_templates_without_exactly_one_class_are_refused(text: str) -> None:
    with pytest.raises(ConfigError, match="template"):
        Template(text)


def test_a_description_is_the_same_whatever_the_order_of_its_clauses() -> None:
    red, snow = clause("Base: Colour=red"), clause("Background: Place=snow")
    assert describe(0, [red, snow]) == describe(0, [snow, red])
    assert describe(0, [red, snow]).without(0) == Description(0, (red,))
    assert "#" not in said_clause("it has a # and a ; and =").label.partition("=")[2]


def test_background_and_style_are_around_the_object() -> None:
    assert clause("Background: Place=snow").around
    assert clause("Image: Style=cartoon").around
    assert not clause("Base: Colour=red").around
    assert said_clause("the background is green").around
    assert not said_clause("it has a long tail").around


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The penguin is walking on grass.", "it is walking on grass"),
        ("- Two penguins are in the water!", "it is in the water"),
        ("3) A bird with a red hat.", "it with a red hat"),
    ],
)
def test_sentences_speak_of_it(text: str, expected: str) -> None:
    assert about_it(text, "penguin", "bird") == expected


def test_what_the_corpus_knows_becomes_its_value_and_the_rest_stays_a_sentence() -> None:
    words = Words(STARTER)
    found = words.clauses(
        ["The cat is in the snow.", "There is a cat.", "It wears a pointed hat and boots."], "cat"
    )
    assert [one.label for one in found] == ["Background: Place=snow", "Said=it wears a pointed hat and boots"]
    assert Words(None).clauses(["The cat is in the snow."], "cat")[0].label == "Said=it is in the snow"


def test_sentences_are_shortened_to_values_parts_and_fewer_words() -> None:
    found = [
        one.label
        for one in Words(STARTER).shorter(said_clause("it is sitting calmly in the snow, looking left"))
    ]
    assert "Background: Place=snow" in found
    assert "Said=it is sitting calmly in the snow" in found
    assert "Said=it is calmly in the snow, looking left" in found
    assert Words(STARTER).shorter(clause("Base: Colour=red")) == []


def test_lists_of_a_language_model() -> None:
    text = "Here are some ideas:\n1. it is in the snow\n- it is upside down\n* it is upside down\nno\n"
    assert parse_list(text, 5) == ["it is in the snow", "it is upside down"]
    assert parse_list(text, 1) == ["it is in the snow"]


def test_options_are_all_values_that_fit_the_class() -> None:
    owl = Target("owl", ("owl",), "bird")
    starter, toybox = CorpusCandidates(STARTER), CorpusCandidates(TOYBOX)
    assert len({starter.clauses[at].kind for at in starter.options(owl)}) >= 10
    labels = {toybox.clauses[at].label for at in toybox.options(Target("penguin", ("penguin",)))}
    assert "Background: place=meadow" in labels
    assert "Base: Material=glass" not in labels
    assert CorpusCandidates(None).options(owl) == []


def test_contradictions_are_not_entered() -> None:
    candidates, owl = CorpusCandidates(STARTER), Target("owl", ("owl",))
    kitchen, rain = clause("Background: Place=kitchen"), clause("Background: Weather=rain")
    assert not candidates.compatible(owl, [kitchen, rain])
    assert not candidates.compatible(owl, [kitchen, clause("Background: Place=snow")])
    assert candidates.compatible(owl, [kitchen, clause("Base: Colour=red")])


def test_findings_read_as_english() -> None:
    meadow, three = clause("Background: place=meadow", TOYBOX), clause("Base: count=three", TOYBOX)
    assert many("penguin", [meadow]) == "penguins in a meadow"
    assert many("penguin", [three, meadow]) == "three penguins in a meadow"
    assert many("penguin", [clause("Base: count=one", TOYBOX)]) == "single penguins"
    assert many("cat", [said_clause("it is asleep")]) == "cats, when “it is asleep”,"
    text = sentence(
        "penguin", [meadow], "turkey", (0.41, 0.03), (0.38, 0.45), "turkey", "the meadow is the cause"
    )
    assert text == (
        "Penguins in a meadow are misclassified 41% of the time (38–45%), mostly as turkey, against 3.0% "
        "for penguins in general; the meadow is the cause."
    )
    painting = Clause("Image: style", "oil painting", "an oil painting of {scene}")
    one = sentence("zebra", [painting], "", (0.4, 0.1), (0.3, 0.5), "horse", "")
    assert " is misclassified 40% of the time" in one
    assert "most often as horse" in one
    assert points(-0.352) == "−35 points"
    assert points(0.01) == "+1 point"


def test_a_value_without_a_wording_is_not_left_out_of_the_name() -> None:
    """A person's corpus has kinds that nobody worded: they stand in the prompt as sentences of their own."""
    fog = Clause("Background: Weather", "fog", "The background weather is {value}.")
    red = clause("Base: Colour=red")
    assert "fog" in TEMPLATE.prompt("owl", "bird", [fog, red]).partition("). ")[2]
    assert many("owl", [fog, red]) == "red owls, when “the background weather is fog”,"
