"""From a node and the purpose of an image to a probe, and from the key of a trial back to its purpose."""

from collections.abc import Collection

from failscape.errors import ConfigError
from failscape.kinds.t2i.probes import Prompting
from failscape.kinds.t2i.search.groups import MEASURED, TESTED
from failscape.kinds.t2i.survey.list_audit import STRIDE
from failscape.kinds.t2i.survey.unguided import NextTry
from failscape.search.belief.nodes import Key
from failscape.spaces.lattice import Lattice, Node
from failscape.trials import Probe, Trial, derive_seed, seed_from_text

SEEDS_OF = {"s": 0, "": 0, "p": 1_000_000, "r": 2_000_000, TESTED: 3_000_000, MEASURED: 4_000_000}
"""Where the image numbers of a stream start, so that its images are nobody else's."""


class LatticeProbes:
    """Probes and keys of one hunt over a lattice; `entities` are those of its shard."""

    def __init__(self, lattice: Lattice, prompting: Prompting, seed: int, entities: Collection[int]) -> None:
        self._lattice = lattice
        self._prompting = prompting
        self._seed = seed
        self._entities = entities

    def node_of(self, key: Key) -> Node:
        return Node(self._lattice.entities[key[0]], key[1:])

    def parse(self, subject: str) -> Node:
        """The node of a subject. Raises a `ConfigError` if it is not one of this shard."""
        node = self._lattice.parse(subject)
        if node.entity not in self._entities:
            raise ConfigError(
                f"{subject!r} belongs to another shard", "resume with the shard it was run with"
            )
        return node

    def read_key(self, trial: Trial) -> tuple[str, int]:
        """`subject#s3` → ("s", 3)."""
        label = trial.key[len(trial.subject) + 1 :]
        stream = label[:1] if label[:1] in SEEDS_OF else ""
        number = label[len(stream) :]
        if not number.isdecimal():
            raise ConfigError(f"the trial {trial.key!r} is no try of this hunt", "resume with its settings")
        return stream, int(number)

    def probe(self, subject: str, node: Node, stream: str, number: int) -> Probe:
        seed = derive_seed(self._seed, SEEDS_OF[stream] + number)
        return Probe(f"{subject}#{stream}{number}", subject, self._prompting.steps(node, number), seed)

    def panel_probe(self, drawn: NextTry | None) -> Probe | None:
        if drawn is None:
            return None
        return self.probe(drawn.subject, self._lattice.parse(drawn.subject), drawn.stream, drawn.number)

    def audit_probe(self, drawn: NextTry | None) -> Probe | None:
        if drawn is None:
            return None
        key = f"{drawn.subject}#{drawn.stream}{drawn.number}"
        steps = self._prompting.steps(self._lattice.parse(drawn.subject), drawn.number // STRIDE)
        # Every image has a seed of its own: findings that shared their luck would be confirmed together.
        return Probe(key, drawn.subject, steps, seed_from_text(f"{self._seed}/{key}"))
