"""Vectors for the words of a corpus: from a file made once (`failscape corpus embed`), or made of the names.

A file belongs to the words it was made of: another corpus is refused. No pickle: `.npz` or `.safetensors`.
"""

import hashlib
import json
import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from failscape.errors import ConfigError, MissingExtra
from failscape.spaces.corpus import Corpus
from failscape.trust import refuse_outside

Vectors = NDArray[np.float32]

#: Instead of a file: vectors made of the names and their classes, without any model.
NAMES = "names"

FORMATS = (".npz", ".safetensors")
_NAME_SIZE = 96
_AGAIN = "make it with `failscape corpus embed`"


@dataclass(frozen=True, eq=False)
class Embeddings:
    """One row per entity and per value of a corpus. `source` says what they were made with."""

    entities: Vectors
    values: Vectors
    source: str
    words: str

    @property
    def size(self) -> int:
        return int(self.entities.shape[1])

    @property
    def digest(self) -> str:
        content = self.entities.tobytes() + self.values.tobytes()
        return hashlib.blake2b(content, digest_size=16).hexdigest()


def texts_of(corpus: Corpus) -> tuple[list[str], list[str]]:
    """What is embedded: names of entities; values with their kind, for a red background is not a red cat."""
    entities = [entity.name for entity in corpus.entities]
    return entities, [f"{value.family} {value.sub_category}: {value.name}".lower() for value in corpus.values]


def digest_of_words(corpus: Corpus) -> str:
    """Changes with the entities and values of a corpus, and not with its whitelist or wording."""
    return hashlib.blake2b(json.dumps(texts_of(corpus)).encode(), digest_size=16).hexdigest()


def save_embeddings(path: Path, embeddings: Embeddings) -> None:
    arrays = {"entities": embeddings.entities, "values": embeddings.values}
    notes = {"source": embeddings.source, "words": embeddings.words}
    path.parent.mkdir(parents=True, exist_ok=True)
    if _format_of(path) == ".npz":
        with path.open("wb") as file:
            texts = {name: np.array(text) for name, text in notes.items()}
            np.savez_compressed(file, allow_pickle=False, **arrays, **texts)
        return
    try:
        from safetensors.numpy import save_file
    except ImportError:
        raise MissingExtra(f"writing {path.name}", "transformers") from None
    save_file(arrays, path, notes)


def load_embeddings(name: str, corpus: Corpus) -> Embeddings:
    """The embeddings of a file, checked against the corpus; or `names`."""
    if name == NAMES:
        return embed_names(corpus)
    refuse_outside(name, "a file of embeddings")
    path = Path(name).expanduser()
    if not path.is_file():
        raise ConfigError(f"there are no embeddings {name!r}", f"{_AGAIN}, or write `embeddings: {NAMES}`")
    embeddings = _read(path)
    if embeddings.words != digest_of_words(corpus):
        raise ConfigError(
            f"{path} was made for other words than those of corpus {corpus.name!r}",
            f"make it anew: failscape corpus embed {corpus.name} --out {path}",
        )
    shapes = [embeddings.entities.shape, embeddings.values.shape]
    size = embeddings.entities.shape[-1]
    if shapes != [(len(corpus.entities), size), (len(corpus.values), size)]:
        raise ConfigError(f"{path} holds arrays of the wrong shape: {shapes}", _AGAIN)
    return embeddings


def _read(path: Path) -> Embeddings:
    try:
        if _format_of(path) == ".npz":
            with np.load(path, allow_pickle=False) as file:
                found = {name: file[name] for name in ("entities", "values", "source", "words")}
                notes = {name: str(found[name]) for name in ("source", "words")}
        else:
            found, notes = _read_safetensors(path)
        entities, values = (np.asarray(found[name], dtype=np.float32) for name in ("entities", "values"))
        return Embeddings(entities, values, notes["source"], notes["words"])
    except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile) as error:
        raise ConfigError(f"{path} cannot be read as embeddings: {error}", _AGAIN) from None


def _read_safetensors(path: Path) -> tuple[dict[str, Vectors], dict[str, str]]:
    try:
        from safetensors import SafetensorError, safe_open
    except ImportError:
        raise MissingExtra(f"reading {path.name}", "transformers") from None
    try:
        with safe_open(path, framework="numpy") as file:
            notes = dict(file.metadata() or {})
            return {name: file.get_tensor(name) for name in ("entities", "values")}, notes
    except SafetensorError as error:
        raise ValueError(str(error)) from None


def _format_of(path: Path) -> str:
    if path.suffix not in FORMATS:
        raise ConfigError(f"{path} is neither .npz nor .safetensors", "name the file so")
    return path.suffix


# Names


def embed_names(corpus: Corpus) -> Embeddings:
    """Hashed pieces of the names and of the classes above them: words that look or belong alike are near."""
    entities = [(entity.name, entity.sub_class, entity.upper_class) for entity in corpus.entities]
    values = [(value.name, value.kind, value.family) for value in corpus.values]
    vectors = [np.stack([_of_names(names) for names in rows]) for rows in (entities, values) if rows]
    return Embeddings(
        vectors[0],
        vectors[1] if values else np.zeros((0, _NAME_SIZE), dtype=np.float32),
        NAMES,
        digest_of_words(corpus),
    )


def _of_names(names: Iterable[str]) -> Vectors:
    """Each level, from the name to the family, adds its whole word and its pieces of three letters."""
    total = np.zeros(_NAME_SIZE)
    for level, name in enumerate(names):
        word = f"<{name.lower()}>"
        pieces = [word[start : start + 3] for start in range(len(word) - 2)]
        total += _hashed(f"{level} {word}")
        total += 0.5 * np.mean([_hashed(piece) for piece in pieces], axis=0)
    return np.asarray(total, dtype=np.float32)


def _hashed(text: str) -> NDArray[np.float64]:
    """A vector of length one that is as good as random, and the same for the same text."""
    seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest())
    vector = np.random.default_rng(seed).normal(size=_NAME_SIZE)
    return np.asarray(vector / np.linalg.norm(vector))
