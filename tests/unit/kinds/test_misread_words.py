"""From an uneven judge to the words that it misreads, and to limits of their own in the search."""

import io

import numpy as np
from rich.console import Console

from failscape.atlas.judging import Decision
from failscape.cli.review import print_words
from failscape.kinds.t2i.search.forecast import Bars
from failscape.search.belief.nodes import Nodes
from failscape.simulate.planted import PlantedWorld
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.stats.judging.accuracy import JudgeAccuracy, word_key
from failscape.stats.judging.words import doubted_words
from failscape.trials import Decide, Generate, Probe
from failscape.views.review.sample import count_words, own_kinds

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


def test_the_search_tests_a_labelled_word_against_limits_of_its_own() -> None:
    value = CORPUS.values[3]
    rates = {"*": (0.98, 0.98), word_key(value.kind, value.name): (0.5, 0.98)}
    bars = Bars(CORPUS, JudgeAccuracy.from_rates(rates), 0.8)
    nodes = Nodes(np.zeros(2, dtype=np.int64), np.array([[3], [4]], dtype=np.int64))
    misread, usual = (bars.limits[bar].fail for bar in bars.of(nodes).tolist())
    assert misread < 0.45 < 0.7 < usual
