"""`failscape corpus embed`: vectors for the words of a corpus, made once, for the predictor of a search."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import cast

import click

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.roles import Embedder
from failscape.spaces.corpus import Corpus, load_corpus
from failscape.spaces.embeddings import FORMATS, Embeddings, digest_of_words, save_embeddings, texts_of


@click.command("embed")
@click.argument("corpus")
@click.option(
    "--model", default="t5-base", show_default=True, help="A folder, or a name on the Hugging Face hub."
)
@click.option(
    "-o",
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    required=True,
    help="The file to write: .safetensors or .npz.",
)
@click.option(
    "--batch", type=click.IntRange(min=1), default=64, show_default=True, help="Words embedded at a time."
)
@click.option("--device", default="cpu", show_default=True, help="Where the model runs, such as cuda.")
def command(corpus: str, model: str, out: Path, batch: int, device: str) -> None:
    """Embed all entities and values of CORPUS (a shipped name or a folder) with a text encoder.

    Needed again only when entities or values change. Use it with `search.predictor.embeddings`.
    """
    if out.suffix not in FORMATS:
        raise ConfigError(f"--out must end in {' or '.join(FORMATS)}, but is {out}", "name the file so")
    loaded = load_corpus(corpus)
    embeddings = embed(loaded, model, batch, device)
    save_embeddings(out, embeddings)
    click.echo(
        f"{out}: {len(loaded.entities):,} entities and {len(loaded.values):,} values, "
        f"{embeddings.size:,} numbers each, by {model}"
    )


def embed(corpus: Corpus, model: str, batch: int, device: str) -> Embeddings:
    import numpy as np

    from failscape.models.providers.transformers import create

    entities, values = texts_of(corpus)
    params = {"device": device, "normalize": False}
    config = ModelConfig(provider="transformers", model=model, batch=batch, params=params)
    encoder = cast(Embedder, create("embedder", config))
    texts, rows = entities + values, list[list[float]]()

    async def fill() -> None:
        await encoder.start()
        with click.progressbar(range(0, len(texts), batch), label="embedding", file=sys.stderr) as starts:
            for start in starts:
                replies = await encoder.embed(texts[start : start + batch])
                rows.extend(reply.value or [] for reply in replies)
        await encoder.close()

    asyncio.run(fill())
    vectors, cut = np.array(rows, dtype=np.float32), len(entities)
    return Embeddings(vectors[:cut], vectors[cut:], model, digest_of_words(corpus))
