"""Words that a judge may misread: what was seen to be recognised is cleared, the rest is doubted."""

from failscape.kinds.t2i.search.hunt import CertifiedHunt
from failscape.kinds.t2i.search.ledger import Ledger
from failscape.kinds.t2i.search.reading import Reading, read_words
from failscape.kinds.t2i.search.settings import CertifiedSettings
from failscape.spaces import Lattice, Wording, load_corpus
from failscape.stats.judging.accuracy import JudgeAccuracy, word_key

CORPUS = load_corpus("starter")
LATTICE = Lattice(CORPUS, entities=("cat", "cup", "tree"), families=("Image",), depth=1)
IN_THE_MEAN = {"*": (0.96, 0.96)}


def reading_of(seen: dict[int, tuple[int, int]], accuracy: JudgeAccuracy) -> Reading:
    """`seen`: by value, in how many images of each entity its check held and did not."""
    hunt = CertifiedHunt(LATTICE, Wording(CORPUS), CertifiedSettings(images=500), accuracy=accuracy)
    ledger = Ledger(LATTICE)
    for node in LATTICE.nodes(1):
        held, missed = seen.get(node.values[0], (0, 0))
        slot = ledger.open(LATTICE.subject(node), node)
        for number in range(held + missed):
            ledger.count(slot, number, number < held, bet=True, dropped=() if number < held else (1,))
    return read_words(ledger, accuracy, hunt.posterior.belief, 0.8)


def test_a_word_that_is_recognised_is_cleared_and_one_that_never_is_stays_in_doubt() -> None:
    first, second, *_ = sorted({node.values[0] for node in LATTICE.nodes(1)})
    reading = reading_of({first: (10, 0), second: (3, 7)}, JudgeAccuracy.from_rates(IN_THE_MEAN))
    assert reading.doubt((0, first)) < 0.005
    assert reading.doubt((0, second)) > 0.02
    assert reading.worst((0, second)) == 1


def test_labels_of_a_word_overrule_the_doubt() -> None:
    value = next(iter(LATTICE.nodes(1))).values[0]
    word = CORPUS.values[value]
    labelled = {**IN_THE_MEAN, word_key(word.kind, word.name): (0.5, 0.96)}
    reading = reading_of({value: (3, 7)}, JudgeAccuracy.from_rates(labelled))
    assert reading.doubt((0, value)) == 0


def test_only_an_accuracy_without_kinds_hides_words_that_are_misread() -> None:
    assert JudgeAccuracy.from_rates(IN_THE_MEAN).only_in_the_mean
    assert JudgeAccuracy.from_rates({**IN_THE_MEAN, "colour=pink": (0.5, 0.9)}).only_in_the_mean
    assert not JudgeAccuracy.from_rates({**IN_THE_MEAN, "entity": (0.96, 0.96)}).only_in_the_mean
