"""From settings to a hunt. Each kind of hunt has its own builder; this finds it by name."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from failscape.config import HuntConfig
from failscape.hunts.protocol import Content, Hunt
from failscape.pictures import Picture
from failscape.spaces.albums import Album
from failscape.stats.judging.accuracy import JudgeAccuracy


def build_hunt(
    config: HuntConfig, shard: tuple[int, int] = (0, 1), accuracy: JudgeAccuracy | None = None
) -> Hunt:
    """A fresh hunt, before any trial is told. `accuracy` says how its judge errs, where that is known."""
    known = {} if accuracy is None else {"accuracy": accuracy}
    hunt: Hunt = _builder(config).build_hunt(config, shard, **known)
    return hunt


def contents(config: HuntConfig) -> dict[str, Content]:
    """What the hunt depends on besides its settings and models, by content: a corpus, images, labels."""
    found: dict[str, Content] = _builder(config).contents(config)
    return found


def forewarn(config: HuntConfig, accuracy: JudgeAccuracy | None = None) -> list[str]:
    """What can be known before the first image to make the run pointless."""
    known = {} if accuracy is None else {"accuracy": accuracy}
    warnings: list[str] = _builder(config).forewarn(config, **known)
    return warnings


def pictures(config: HuntConfig) -> Iterator[Picture]:
    """Stored images that the hunt will show: an album's. They have to be in the atlas before the run."""
    builder = _builder(config)
    found: Iterator[Picture] = builder.pictures(config) if hasattr(builder, "pictures") else iter(())
    return found


def albums(config: HuntConfig) -> Sequence[Album]:
    """What is known of those images, for the atlas to keep."""
    builder = _builder(config)
    found: Sequence[Album] = builder.albums(config) if hasattr(builder, "albums") else ()
    return found


def _builder(config: HuntConfig) -> Any:
    """The module is imported only now: a t2i hunt need not load what others need."""
    return import_module(f"failscape.hunts.{config.hunt}.kind")
