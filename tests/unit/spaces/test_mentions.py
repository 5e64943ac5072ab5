"""Captions are matched by whole words, as a slow and plain search would."""

import re

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from failscape.spaces import Corpus, Entity, Node, Value, load_corpus
from failscape.spaces.mentions import MentionCounter, Mentions, phrases_of

from .tiny import write_corpus

WORDS = ["hot", "dog", "dogs", "cat", "red", "light", "blue", "on", "a", "beach", "beaches", "ox", "oxen"]
CORPUS = Corpus(
    "words",
    (
        Entity("Dog", "A", "a"),
        Entity("hot dog", "B", "b"),
        Entity("cat", "A", "a"),
        Entity("ox", "A", "a", "oxen"),
    ),
    (
        Value("red", "Base", "Colour"),
        Value("blue", "Base", "Colour"),
        Value("light blue", "Base", "Colour"),
        Value("shore", "Background", "Place", ("{thing} on a beach", "{value} scene")),
        Value("dog", "Image", "Motif"),
    ),
    np.ones((4, 5), dtype=bool),
    np.zeros((5, 5), dtype=bool),
    (0,),
)
captions = st.lists(st.sampled_from(WORDS), max_size=9).flatmap(
    lambda words: st.lists(
        st.sampled_from([" ", ", ", "-", " ", "_", ". ", "'s "]), min_size=len(words), max_size=len(words)
    ).map(lambda gaps: "".join(w + g for w, g in zip(words, gaps, strict=True)))
)


def plainly(caption):
    """Every phrase tried at every place with a regular expression."""
    spans = []
    for words, targets in phrases_of(CORPUS).items():
        pattern = r"(?=(?<![^\W_])(" + r"[\W_]+".join(map(re.escape, words)) + r")(?![^\W_]))"
        for match in re.finditer(pattern, caption.lower()):
            spans += [(match.start(1), match.end(1), target) for target in targets]

    def inside_longer(start, end, kind):
        return any(s <= start and end <= e and (s, e) != (start, end) for s, e, (k, _) in spans if k == kind)

    return {target for start, end, target in spans if not inside_longer(start, end, target[0])}


@given(captions, st.booleans())
def test_mentions_are_those_of_a_plain_search(caption, loud):
    text = caption.upper() if loud else caption
    assert Mentions(CORPUS).find(text) == plainly(text)


NODES = [
    Node(e, v) for e in range(4) for v in [(), (0,), (1,), (2,), (3,), (0, 3), (1, 3), (0, 1, 3), (2, 3, 4)]
]


@given(st.lists(captions, max_size=12))
def test_counts_are_those_of_a_plain_count(texts):
    counter = MentionCounter(CORPUS, NODES)
    for text in texts:
        counter.add(text)
    found = [plainly(text) for text in texts]
    for node in NODES:
        needed = {("entity", node.entity), *((CORPUS.values[v].kind, v) for v in node.values)}
        assert counter.count(node) == sum(needed <= targets for targets in found)
    assert counter.captions == len(texts)


def names(caption):
    found = Mentions(CORPUS).find(caption)
    return {CORPUS.entities[i].name if kind == "entity" else CORPUS.values[i].name for kind, i in found}


def test_what_a_reader_expects():
    assert names("Two DOGS, both red!") == {"Dog", "red", "dog"}
    assert names("a hot-dog") == {"hot dog", "dog"}  # the motif is of another kind, so it stays
    assert names("light blue oxen") == {"light blue", "ox"}
    assert names("doge, reddish, boxen") == set()
    assert names("a cat on a beach") == {"cat", "shore"}
    assert names("") == set()


def test_a_corpus_from_files_is_matched_by_its_wordings(tmp_path):
    corpus = load_corpus(write_corpus(tmp_path))
    node = Node(corpus.entity_index["owl"], (corpus.value_index["Background: Place=beach"],))
    counter = MentionCounter(corpus, [node])
    for text in ("Owls at the beach", "an owl on sandy beaches", "an owl", "a beach"):
        counter.add(text)
    assert counter.count(node) == 2
