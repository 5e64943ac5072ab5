"""The general corpus is large, has no word twice, makes sense, and its captions read like English."""

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from failscape.spaces import Corpus, Lattice, Wording, corpus_names, load_corpus
from failscape.spaces.corpus.files import USUAL_FAMILIES
from failscape.spaces.wording import Understanding, plural_of
from tests.counting import calls_of

CORPUS = load_corpus("general")
LATTICE = Lattice(CORPUS, depth=3)
WORDING = Wording(CORPUS)


def test_it_is_larger_than_failureatlas_s() -> None:
    assert len(CORPUS.entities) >= 780
    assert len({entity.upper_class for entity in CORPUS.entities}) >= 6
    assert len(_sub_classes(CORPUS)) >= 28
    assert len(CORPUS.values) >= 450
    assert len(CORPUS.sub_categories) >= 30
    assert {value.family for value in CORPUS.values} == set(USUAL_FAMILIES)


def test_its_lattice_counts_in_the_millions() -> None:
    assert len(Lattice(CORPUS, depth=2)) > 10_000_000
    assert len(Lattice(CORPUS, entities="sample", depth=2)) > 1_000_000


def test_the_documented_sizes_are_true() -> None:
    page = (Path(__file__).parents[3] / "docs" / "spaces.md").read_text()
    for name in corpus_names():
        corpus = load_corpus(name)
        sizes = [len(Lattice(corpus, entities, depth=2)) for entities in ("all", "sample")]
        row = next(line for line in page.splitlines() if line.startswith(f"| `{name}` |"))
        assert f"| {len(corpus.entities):,} |" in row
        assert f"| {len(corpus.values)} | {len(corpus.sub_categories)} (" in row
        assert f"| {sizes[0]:,}, {sizes[1]:,} |" in row


def test_a_hundred_million_nodes_open_without_being_walked() -> None:
    """Loading makes about one call for each pair of thing and value; counting looks at no node."""
    assert calls_of(lambda: load_corpus("general")) < 3 * len(CORPUS.entities) * len(CORPUS.values)
    code = (
        "import re\n"
        "from failscape.spaces import Lattice, load_corpus\n"
        "size = len(Lattice(load_corpus('general')))\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1)\n"
        "print(size, peak)"
    )
    size, kilobytes = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    assert int(size) > 100_000_000
    assert int(kilobytes) < 200 * 1024


def test_no_entity_is_there_twice_in_another_spelling_or_number() -> None:
    forms = Counter(form for entity in CORPUS.entities for form in _forms(entity.name, entity.plural))
    assert [form for form, count in forms.items() if count > 1] == []


@pytest.mark.parametrize(
    "synonyms",
    [
        ("couch", "sofa", "settee"),
        ("airplane", "aeroplane", "plane", "passenger jet"),
        ("bicycle", "bike"),
        ("television", "tv"),
        ("refrigerator", "fridge"),
        ("eggplant", "aubergine"),
        ("zucchini", "courgette"),
        ("cookie", "biscuit"),
        ("truck", "lorry"),
        ("purse", "handbag"),
        ("firefighter", "fireman"),
        ("doughnut", "donut"),
        ("smartphone", "mobile phone", "cell phone"),
        ("sneaker", "trainer"),
        ("trash can", "dustbin", "garbage can"),
        ("crow", "raven"),
        ("alligator", "crocodile"),
        ("cat", "kitten"),
        ("dog", "puppy"),
        ("cup", "teacup"),
    ],
)
def test_of_synonyms_only_one_is_used(synonyms: tuple[str, ...]) -> None:
    assert sum(name in CORPUS.entity_index for name in synonyms) == 1


def test_values_are_told_apart_from_entities_and_from_each_other() -> None:
    entity_forms = {form for entity in CORPUS.entities for form in _forms(entity.name, entity.plural)}
    assert [value.label for value in CORPUS.values if _letters(value.name) in entity_forms] == []
    for kind, group in CORPUS.sub_categories.items():
        forms = {_letters(CORPUS.values[index].name) for index in group}
        assert len(forms) == len(group), kind


def test_no_entity_says_a_colour_number_shape_or_age_by_itself() -> None:
    kinds = ("Base: Colour", "Base: Count", "Base: Shape", "Base: Pattern", "Base: Age", "Base: Build")
    words = {CORPUS.values[index].name for kind in kinds for index in CORPUS.sub_categories[kind]}
    assert [entity.name for entity in CORPUS.entities if words & set(entity.name.split())] == []


def test_spelling_is_british() -> None:
    text = " ".join([entity.name for entity in CORPUS.entities] + [value.label for value in CORPUS.values])
    text += " ".join(wording for value in CORPUS.values for wording in (*value.wordings, value.statement))
    american = r"\b(\w*color\w*|gray|jewelry|theater|center|plow|pajamas|mold\w*)\b"
    assert re.findall(american, text, re.IGNORECASE) == []


def test_the_sample_has_one_entity_of_every_sub_class() -> None:
    homes = [(CORPUS.entities[i].upper_class, CORPUS.entities[i].sub_class) for i in CORPUS.sample]
    assert sorted(homes) == sorted(_sub_classes(CORPUS))


def test_every_entity_takes_a_plausible_number_of_base_values() -> None:
    base = np.array([value.family == "Base" for value in CORPUS.values])
    counts = CORPUS.allowed[:, base].sum(axis=1)
    assert counts.min() >= 40
    assert counts.max() <= 200


def test_every_value_is_used_by_some_entity_and_leaves_room_for_others() -> None:
    assert [CORPUS.values[i].label for i in np.flatnonzero(~CORPUS.allowed.any(axis=0))] == []
    conflicts = CORPUS.conflicts.mean(axis=1)
    assert conflicts.max() < 0.6


@pytest.mark.parametrize(
    ("entity", "label", "plausible"),
    [
        ("cat", "Base: Action=sleeping", True),
        ("hammer", "Base: Action=sleeping", False),
        ("eagle", "Base: Action=flying", True),
        ("penguin", "Base: Action=flying", False),
        ("apple", "Base: Emotion=angry", False),
        ("nurse", "Base: Emotion=angry", True),
        ("nurse", "Base: Colour=blue", False),
        ("chair", "Base: Material=steel", True),
        ("girl", "Base: Hair=bearded", False),
        ("man", "Base: Hair=bearded", True),
        ("cup", "Base: Contents=filled with coins", True),
        ("fork", "Base: Contents=filled with coins", False),
        ("house", "Background: Indoor place=kitchen", False),
        ("mountain", "Background: Natural place=beach", False),
        ("spoon", "Background: Indoor place=kitchen", True),
        ("bee", "Base: Action=flying", True),
        ("snail", "Base: Action=flying", False),
        ("nurse", "Base: Position=hanging from a rope", False),
        ("nurse", "Background: Surroundings=surrounded by flames", False),
    ],
)
def test_plausibility(entity: str, label: str, plausible: bool) -> None:
    assert CORPUS.allowed[CORPUS.find_entity(entity), CORPUS.value_index[label]] == plausible


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Background: Time of day=night", "Background: Weather=clear sky"),
        ("Image: Colour grading=black and white", "Base: Colour=red"),
        ("Image: Medium=pencil sketch", "Base: Colour=red"),
        ("Background: Indoor place=kitchen", "Background: Weather=rain"),
        ("Background: Natural place=beach", "Background: Urban place=city street"),
        ("Background: Season=summer", "Background: Weather=snowfall"),
        ("Base: Action=sleeping", "Base: Activity=reading a book"),
        ("Base: Colour=red", "Background: Backdrop colour=red"),
        ("Base: State=burning", "Base: Material=ice"),
    ],
)
def test_contradictions(first: str, second: str) -> None:
    assert CORPUS.conflicts[CORPUS.value_index[first], CORPUS.value_index[second]]


@pytest.mark.parametrize(
    ("subject", "caption"),
    [
        ("owl", "An image of an owl."),
        ("unicorn", "An image of a unicorn."),
        ("unicycle; Base: Age=antique", "An image of an antique unicycle."),
        ("euphonium", "An image of a euphonium."),
        ("eucalyptus", "An image of a eucalyptus."),
        ("ukulele", "An image of a ukulele."),
        ("hourglass", "An image of an hourglass."),
        ("horse", "An image of a horse."),
        ("honeycomb", "An image of a honeycomb."),
        ("umbrella", "An image of an umbrella."),
        ("oboe", "An image of an oboe."),
        ("yo-yo", "An image of a yo-yo."),
        ("T-shirt", "An image of a T-shirt."),
        ("moon; Base: Colour=red", "An image of the red moon."),
        ("moon; Base: Count=two", "An image of two moons."),
        ("loaf of bread; Base: Count=three", "An image of three loaves of bread."),
        ("pair of scissors; Base: Count=two", "An image of two pairs of scissors."),
        ("mosquito; Base: Count=five", "An image of five mosquitoes."),
        ("jellyfish; Base: Count=ten", "An image of ten jellyfish."),
        ("chest of drawers; Base: Colour=orange", "An image of an orange chest of drawers."),
        ("computer mouse; Base: Count=four", "An image of four computer mice."),
        ("werewolf; Base: Count=two", "An image of two werewolves."),
        ("cup; Base: Arrangement=in a row; Base: Count=four", "An image of four cups arranged in a row."),
        ("cup; Base: Contents=empty", "An image of an empty cup."),
        (
            "cat; Base: Emotion=angry; Image: Medium=oil painting",
            "An oil painting of an angry cat.",
        ),
        (
            "chair; Base: Colour=red; Background: Natural place=beach; Background: Time of day=night",
            "An image of a red chair on a beach at night.",
        ),
    ],
)
def test_captions(subject: str, caption: str) -> None:
    assert WORDING.caption(LATTICE.parse(subject)) == caption


SLOTS_AND_SPACES = re.compile(r"[{}]|  | [,.]|,\.")
WRONG_A = re.compile(r"(?<!letter )\b[Aa] (?!eu|one)[aeioAEIO]")
WRONG_AN = re.compile(r"\b[Aa]n (?!hour)[^aeiouxAEIO]")
DOUBLED = re.compile(r"\b(\w+) \1\b")


def test_the_patterns_below_find_mistakes() -> None:
    assert SLOTS_AND_SPACES.search("A {thing}.")
    assert SLOTS_AND_SPACES.search("A red  cat.")
    assert WRONG_A.search("An image of a orange cat.")
    assert WRONG_AN.search("An cat.")
    fine = "An image of a euphonium marked with the letter A on an hourglass."
    assert not WRONG_A.search(fine)
    assert not WRONG_AN.search(fine)
    assert DOUBLED.search("A cat in in pixel art style.")


def test_captions_and_statements_are_clean() -> None:
    for text in _texts():
        assert not SLOTS_AND_SPACES.search(text), text
        assert not WRONG_A.search(text), text
        assert not WRONG_AN.search(text), text
        assert not DOUBLED.search(text), text
        assert text[0].isupper() or text[0].isdigit(), text
        assert text.endswith("."), text


def _texts() -> Iterator[str]:
    rng = np.random.default_rng(7)
    nodes = [node for layer in range(3) for node in LATTICE.sample(layer, 1500, rng)]
    for node in nodes:
        yield from WORDING.captions(node)
        yield from (check.statement for check in WORDING.checks(node))


def test_statements_of_background_and_image_do_not_ask_for_the_entity_again() -> None:
    """Else a wrong entity would be blamed on the place or the style as well."""
    for index, value in enumerate(CORPUS.values):
        assert WORDING.statements[index], value.label


def test_checks_offer_at_most_five_distractors() -> None:
    for node in LATTICE.sample(2, 500, np.random.default_rng(1)):
        for check in WORDING.checks(node):
            assert 1 <= len(check.choices) <= 5
            assert check.value not in check.choices


def test_captions_are_understood_again() -> None:
    understanding = Understanding(WORDING)
    for layer in range(3):
        for node in LATTICE.sample(layer, 40, np.random.default_rng(3)):
            for caption in WORDING.captions(node):
                assert understanding.node(caption) == node


def _sub_classes(corpus: Corpus) -> set[tuple[str, str]]:
    return {(entity.upper_class, entity.sub_class) for entity in corpus.entities}


def _forms(name: str, plural: str) -> set[str]:
    return {_letters(name), _letters(plural or plural_of(name))}


def _letters(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
