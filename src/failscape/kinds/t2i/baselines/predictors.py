"""From `search.predictor` to an ordering. This is the only place that knows which predictors exist.

`ridge` is a regression on which entity, value, class and kind a node has: values alone, with the entity's
classes, and in pairs. It needs no embeddings. `transformer` is FailureAtlas's: a small decoder in which the
entity's vector attends to the values' vectors (zero-padded), and a sigmoid gives the success rate. It runs on
one CPU thread from a fixed seed, so that the same nodes give the same predictor, leaves global torch settings
as they were, and needs the extra `transformers`.
"""

import contextlib
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import astuple, dataclass
from functools import cached_property
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import lsqr
from scipy.special import expit, logit

from failscape.errors import ConfigError, MissingExtra
from failscape.kinds.t2i.baselines.lanes import Ordering, Predictor
from failscape.kinds.t2i.config import PredictorConfig, T2IConfig
from failscape.spaces.corpus import Corpus, load_corpus
from failscape.spaces.embeddings import Embeddings, load_embeddings
from failscape.spaces.lattice import Lattice, Node


@dataclass(frozen=True, slots=True)
class Training:
    """How the network is made and trained. `most_steps` bounds the time of one training."""

    most_values: int
    width: int = 64
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    epochs: int = 20
    learning_rate: float = 1e-3
    weight_decay: float = 1e-2
    batch: int = 128
    most_steps: int = 4000
    seed: int = 0


def require_torch() -> None:
    if find_spec("torch") is None or find_spec("safetensors") is None:
        raise MissingExtra("the predictor `transformer`", "transformers")


class TransformerPredictor:
    """Give `embeddings` as a function: a hunt that is only looked at reads no file.

    With a folder `checkpoints`, each trained network is kept there under a name that stands for all it was
    trained on, and is read instead of being trained again.
    """

    def __init__(
        self, embeddings: Callable[[], Embeddings], training: Training, checkpoints: Path | None = None
    ) -> None:
        self._load = embeddings
        self._training = training
        self._checkpoints = checkpoints
        self._network: Any = None

    @cached_property
    def _vectors(self) -> Embeddings:
        return self._load()

    @cached_property
    def _table(self) -> Any:
        """Entities, then values, then the zeros that pad, as one tensor."""
        import torch

        padding = np.zeros((1, self._vectors.size), dtype=np.float32)
        table = np.concatenate((self._vectors.entities, self._vectors.values, padding))
        scale = np.sqrt(np.mean(table[:-1] ** 2)) or 1.0  # encoders differ in how long their vectors are
        return torch.from_numpy(table / scale)

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None:
        require_torch()
        kept = self._checkpoint(nodes, rates)
        with _one_thread():
            self._network = _make_network(self._vectors.size, self._training)
            if kept is None or not _read(self._network, kept):
                self._train(self._numbers(nodes), np.asarray(rates, dtype=np.float32))
                if kept is not None:
                    _write(self._network, kept)
            self._network.eval()

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        import torch

        with _one_thread(), torch.no_grad():
            vectors = self._table[torch.from_numpy(self._numbers(nodes))]
            rates = torch.sigmoid(_log_odds(self._network, vectors)).numpy().astype(np.float64)
        return np.asarray(rates)

    def _train(self, numbers: NDArray[np.int64], rates: NDArray[np.float32]) -> None:
        """Binary cross-entropy against the measured rates; the learning rate falls to zero at the end."""
        import torch

        how, table = self._training, self._table
        places, targets = torch.from_numpy(numbers), torch.from_numpy(rates)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(how.seed)
            steps = _steps(len(rates), how)
            optimizer = torch.optim.AdamW(
                self._network.parameters(), how.learning_rate, weight_decay=how.weight_decay
            )
            schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, how.learning_rate, total_steps=steps)
            self._network.train()
            for rows in _minibatches(len(rates), how.batch, steps):
                logits = _log_odds(self._network, table[places[rows]])
                loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, targets[rows])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()

    def _numbers(self, nodes: Sequence[Node]) -> NDArray[np.int64]:
        """Rows of the table per node: its entity, then its values, padded."""
        entities, pad = len(self._vectors.entities), len(self._table) - 1
        numbers = np.full((len(nodes), 1 + max(1, self._training.most_values)), pad, dtype=np.int64)
        for row, node in zip(numbers, nodes, strict=True):
            row[0] = node.entity
            row[1 : 1 + len(node.values)] = [entities + value for value in node.values]
        return numbers

    def _checkpoint(self, nodes: Sequence[Node], rates: Sequence[float]) -> Path | None:
        if self._checkpoints is None:
            return None
        content = repr((self._vectors.digest, astuple(self._training), list(nodes), list(rates)))
        digest = hashlib.blake2b(content.encode(), digest_size=12).hexdigest()
        return self._checkpoints / f"{len(nodes)}-{digest}.safetensors"


def _make_network(size: int, how: Training) -> Any:
    import torch
    from torch import nn

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(how.seed)
        layer = nn.TransformerDecoderLayer(
            how.width, how.heads, 2 * how.width, how.dropout, batch_first=True, norm_first=True
        )
        return nn.ModuleDict(
            {
                "entity": nn.Linear(size, how.width),
                "value": nn.Linear(size, how.width, bias=False),  # padding stays zero
                "decoder": nn.TransformerDecoder(layer, how.layers, nn.LayerNorm(how.width)),
                "rate": nn.Linear(how.width, 1),
            }
        )


def _log_odds(network: Any, vectors: Any) -> Any:
    """The entity asks, the values answer."""
    entity, values = network["entity"](vectors[:, :1]), network["value"](vectors[:, 1:])
    return network["rate"](network["decoder"](entity, values)[:, 0])[:, 0]


def _steps(size: int, how: Training) -> int:
    return max(2, min(how.most_steps, how.epochs * -(-size // how.batch)))


def _minibatches(size: int, batch: int, steps: int) -> Iterator[Any]:
    """Shuffled anew in every epoch."""
    import torch

    done = 0
    while True:
        for rows in torch.randperm(size).split(batch):
            if done == steps:
                return
            done += 1
            yield rows


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """How sums are split over threads changes their last bits."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def _read(network: Any, path: Path) -> bool:
    """Whether there was a whole checkpoint. A damaged one is as good as none, and is written anew."""
    from safetensors import SafetensorError
    from safetensors.torch import load_file

    try:
        weights = load_file(path)
    except (OSError, SafetensorError):
        return False
    shapes = {name: weight.shape for name, weight in network.state_dict().items()}
    if shapes != {name: weight.shape for name, weight in weights.items()}:
        return False
    network.load_state_dict(weights)
    return True


def _write(network: Any, path: Path) -> None:
    """Under another name first: a file cut short by a crash must not be taken for a checkpoint."""
    from safetensors.torch import save_file

    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    save_file(network.state_dict(), part)
    part.replace(path)


#: Rates are kept this far from 0 and 1, where log-odds are infinite.
SOFTEN = 0.02

PENALTY = 1.0


class RidgePredictor:
    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._columns: dict[tuple[object, ...], int] = {}
        self._weights: NDArray[np.float64] = np.zeros(0)
        self._mean = 0.0

    def fit(self, nodes: Sequence[Node], rates: Sequence[float]) -> None:
        self._columns = {}
        log_odds = logit(np.clip(rates, SOFTEN, 1 - SOFTEN))
        self._mean = float(np.mean(log_odds))
        table = self._table(nodes, learn=True)
        self._weights = lsqr(table, log_odds - self._mean, damp=PENALTY**0.5, iter_lim=200)[0]

    def predict(self, nodes: Sequence[Node]) -> NDArray[np.float64]:
        return np.asarray(expit(self._mean + self._table(nodes, learn=False) @ self._weights))

    def _table(self, nodes: Sequence[Node], learn: bool) -> sparse.csr_array:
        """One row of ones and zeros per node. What was not learnt from has no column."""
        columns, places, ends = self._columns, list[int](), [0]
        for node in nodes:
            for term in self._terms(node):
                place = columns.setdefault(term, len(columns)) if learn else columns.get(term, -1)
                if place >= 0:
                    places.append(place)
            ends.append(len(places))
        return sparse.csr_array((np.ones(len(places)), places, ends), shape=(len(nodes), len(columns)))

    def _terms(self, node: Node) -> list[tuple[object, ...]]:
        entity = self._corpus.entities[node.entity]
        terms: list[tuple[object, ...]] = [(len(node.values),), (entity.name,)]
        for level in (entity.sub_class, entity.upper_class):
            terms.append(("class", level))
            terms += [("class", level, value) for value in node.values]
        for value in node.values:
            terms += [("kind", self._corpus.values[value].kind), ("value", value), (entity.name, value)]
        terms += [("pair", *pair) for pair in combinations(node.values, 2)]
        return terms


#: Strategies that go layer by layer. The others choose by themselves.
USED_BY = ("failureatlas", "curtailed", "sprt")


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
