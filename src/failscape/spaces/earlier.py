"""What an earlier hunt saw of a space, for a later one to start from: a proposal, never evidence.

How often each subject passed and failed, and which were found failing. It is read from the old atlas once and
kept as one small file in the new one, so that going on needs the old one no more.
"""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass

from failscape.errors import AtlasError, ConfigError
from failscape.trials import derive_seed

#: The name of the file in an atlas.
KEPT = "earlier.json"

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Earlier:
    """`counts` has for each subject how many trials passed and failed; `findings` are subjects, surest first.

    `target` is what the old model was called.
    """

    kind: str
    target: str
    counts: dict[str, tuple[int, int]]
    findings: tuple[str, ...]

    @property
    def text(self) -> str:
        parts = {
            "format": FORMAT,
            "kind": self.kind,
            "target": self.target,
            "findings": self.findings,
            "counts": dict(sorted(self.counts.items())),
        }
        return json.dumps(parts, ensure_ascii=False, separators=(",", ":"))

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.text.encode()).hexdigest()

    def fresh_seed(self, seed: int) -> int:
        """The seed of a hunt that starts from here. With the old one's, a model that hardly changed would
        draw the very pictures that its findings were picked for."""
        return derive_seed(seed, int(self.digest[:8], 16))


def parse_earlier(text: str, source: str) -> Earlier:
    """Raises for anything that `Earlier.text` did not write."""
    try:
        data = json.loads(text)
        if data["format"] != FORMAT:
            raise ValueError(f"its format is {data['format']!r}, this version reads {FORMAT}")
        counts = {str(subject): (int(row[0]), int(row[1])) for subject, row in data["counts"].items()}
        if any(min(row) < 0 for row in counts.values()):
            raise ValueError("a count is negative")
        return Earlier(str(data["kind"]), str(data["target"]), counts, tuple(map(str, data["findings"])))
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        raise AtlasError(
            f"{source} is not what a warm start keeps: {error}", "restore the atlas from a copy"
        ) from None


def refuse_unshared(earlier: Earlier, shared: int, words: str = "subjects") -> None:
    """Raise when nothing that was tried there is in this space."""
    if not shared:
        raise ConfigError(
            f"`warm_start`: none of the {len(earlier.counts):,} {words} tried there is in this space",
            "name an atlas whose `space` has something in common with this one",
        )


def refuse_strangers(earlier: Earlier, known: Sequence[object], what: str) -> None:
    """Raise when the earlier hunt found something, and nothing of it is `known` here."""
    if earlier.findings and not known:
        raise ConfigError(
            f"`warm_start`: none of the {len(earlier.findings):,} findings there {what}",
            "name an atlas of a hunt like this one, or take `warm_start` out",
        )
