"""What can be asked of a text-to-image model: corpora, the lattice of nodes over them, and their wording."""

from failscape.spaces.corpus import FAMILIES, Corpus, Entity, Value, corpus_names, load_corpus
from failscape.spaces.lattice import Lattice, Node, bits_of
from failscape.spaces.wording import Wording

__all__ = [
    "FAMILIES",
    "Corpus",
    "Entity",
    "Lattice",
    "Node",
    "Value",
    "Wording",
    "bits_of",
    "corpus_names",
    "load_corpus",
]
