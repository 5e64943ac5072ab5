"""From an uneven judge to the words that it misreads."""

import io

from rich.console import Console

from failscape.atlas.decisions import Decision
from failscape.cli.review import print_words
from failscape.review.words import count_words, own_kinds
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.stats.judging.words import doubted_words
from failscape.testing.planted import PlantedWorld
from failscape.trials import Decide, Generate, Probe

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, depth=1)
WORDING = Wording(CORPUS)


def decided(world: PlantedWorld, images: int = 6) -> list[Decision]:
    found = []
    for node in LATTICE.nodes(1):
        subject, checks = LATTICE.subject(node), WORDING.checks(node)
        for number in range(images):
            key = f"{subject}#{number}"
            trial = world.run(Probe(key, subject, (Generate("x"), Decide(checks)), number))
            found += [
                Decision(key, subject, place, check, answer, "")
                for place, (check, answer) in enumerate(zip(checks, trial.facts[1], strict=True))
            ]
    return found


def test_words_of_an_uneven_judge_are_named_and_few_others() -> None:
    world = PlantedWorld(LATTICE, "sound", seed=1, accuracy={"*": (0.93, 0.96)}, uneven=(0.1, 0.2))
    named = {(one.counts.kind, one.counts.word) for one in doubted_words(count_words(decided(world)))}
    words = [("entity", one.name) for one in CORPUS.entities] + [
        (one.kind, one.name) for one in CORPUS.values
    ]
    misread = {word for word in words if world.is_misread(*word)}
    assert len(misread) >= 5
    assert len(named & misread) >= 0.7 * len(misread)
    assert len(named - misread) <= 1
    even = PlantedWorld(LATTICE, "sound", seed=1, accuracy={"*": (0.93, 0.96)})
    assert len(doubted_words(count_words(decided(even)))) <= 2


def test_values_get_an_accuracy_of_their_own_and_entities_do_not() -> None:
    world = PlantedWorld(LATTICE, "sound", seed=1, accuracy={"*": (0.93, 0.96)}, uneven=(0.1, 0.2))
    found = doubted_words(count_words(decided(world)))
    assert all(kind != "entity" for kind, _ in own_kinds(found))
    out = io.StringIO()
    print_words(found, Console(file=out, width=140))
    assert found[0].counts.word in out.getvalue()
    assert "Label these first" in out.getvalue()
