"""From `search.predictor` to an ordering. This is the only place that knows which predictors exist."""

from __future__ import annotations

from pathlib import Path

from failscape.config.t2i import PredictorConfig, T2IConfig
from failscape.errors import ConfigError
from failscape.hunts.t2i.ordering import Ordering, Predictor
from failscape.hunts.t2i.predictor_ridge import RidgePredictor
from failscape.hunts.t2i.predictor_transformer import Training, TransformerPredictor, require_torch
from failscape.spaces.corpus import load_corpus
from failscape.spaces.embeddings import load_embeddings
from failscape.spaces.lattice import Lattice

USED_BY = ("failureatlas", "curtailed", "sprt")
"""Strategies that go layer by layer. The others choose by themselves."""


def build_ordering(settings: PredictorConfig, lattice: Lattice, seed: int) -> Ordering | None:
    """Nothing is loaded yet: a hunt that is only looked at needs neither torch nor the embeddings."""
    if settings.kind == "none":
        return None
    predictor = _build_predictor(settings, lattice, seed)
    return Ordering(predictor, settings.warm_up, settings.retrain_every)


def _build_predictor(settings: PredictorConfig, lattice: Lattice, seed: int) -> Predictor:
    if settings.kind == "ridge":
        return RidgePredictor(lattice.corpus)
    training = Training(
        lattice.depth, epochs=settings.epochs, learning_rate=settings.learning_rate, seed=seed % 2**32
    )
    checkpoints = Path(settings.checkpoints).expanduser() if settings.checkpoints else None
    return TransformerPredictor(
        lambda: load_embeddings(settings.embeddings, lattice.corpus), training, checkpoints
    )


def forewarn_predictor(config: T2IConfig) -> list[str]:
    """Raises now what would otherwise stop the run after the warm-up, and says when it is of no use."""
    settings, images = config.search.predictor, config.budget.images
    if settings.kind == "none":
        return []
    if config.search.strategy not in USED_BY:
        return [f"search.predictor is not used by strategy {config.search.strategy}"]
    if settings.kind == "transformer":
        require_torch()
        load_embeddings(settings.embeddings, load_corpus(config.space.corpus))
        _make_folder(settings.checkpoints)
    nodes = None if images is None else images // config.search.images_per_node
    if nodes is not None and nodes <= settings.warm_up:
        return [
            f"the predictor will never be asked: it warms up for {settings.warm_up:,} nodes, and a budget of "
            f"{images:,} images settles about {nodes:,} (lower search.predictor.warm_up)"
        ]
    return []


def _make_folder(checkpoints: str) -> None:
    try:
        if checkpoints:
            Path(checkpoints).expanduser().mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            f"search.predictor.checkpoints: {checkpoints!r} cannot be made a folder ({error.strerror})",
            "name another folder, or leave it out",
        ) from None
