"""Corpora: the words that can be combined, their files, how to write them, and how large they are."""

from failscape.spaces.corpus.corpus import (
    FAMILIES,
    Corpus,
    Entity,
    Value,
    corpus_names,
    folder_of,
    load_corpus,
)

__all__ = ["FAMILIES", "Corpus", "Entity", "Value", "corpus_names", "folder_of", "load_corpus"]
