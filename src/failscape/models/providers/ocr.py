"""Providers `ocr` and `by_family`: a judge that reads, and judges that share the checks of a picture.

`ocr` reads the text of a picture with RapidOCR, whose networks come in its package, and compares it with the
text asked for. It decides checks of the family `Text` and no others. `by_family` hands every check to the
judge of its family, so that a reader and a vision-language model can judge the same picture.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra, ModelError
from failscape.models.contracts.asking import replies_as_text
from failscape.models.in_process import InProcess, charge
from failscape.models.registry import create_model
from failscape.models.roles import Identity, Judge, Model, Reply, Usage
from failscape.pictures import Picture
from failscape.spaces.written_text import TextRules, is_text_check, reading_to_raw, says
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.stats.judging.errors import KindAccuracy
from failscape.trials import Check

#: Part of the identity. Raise it with the rules by which readings are compared.
LABEL = "ocr/1"

_PARAMS = ("case", "spacing", "tolerance", "min_score", "threads")

ALL_OTHERS = "*"

#: What it has to read before it is trusted with anything.
_SAMPLE = "OPEN"

Decisions = list[bool | None]


class OcrJudge(InProcess):
    """Decides `Text` checks by reading. Other checks it leaves open."""

    batch = 1

    def __init__(self, config: ModelConfig) -> None:
        unknown = sorted(set(config.params) - set(_PARAMS))
        if unknown:
            raise ConfigError(
                f"the ocr judge takes no param {', '.join(unknown)}", f"use {', '.join(_PARAMS)}"
            )
        if find_spec("rapidocr") is None:
            raise MissingExtra("provider ocr", "ocr")
        params = config.params
        self.rules = TextRules(
            bool(params.get("case", False)),
            bool(params.get("spacing", False)),
            int(params.get("tolerance", 0)),
        )
        self._least_score = float(params.get("min_score", 0.5))
        self._threads_of_network = int(params.get("threads", 1))
        settings = {
            "reader": f"rapidocr {version('rapidocr')}",
            "rules": LABEL,
            **{name: value for name, value in params.items() if name != "threads"},
        }
        self.identity = Identity("judge", "ocr", config.model or "rapidocr", settings)
        self._reader: Any = None
        self._alphabet: frozenset[str] = frozenset()

    @property
    def accuracy(self) -> JudgeAccuracy:
        """How often it errs on clean rendered text, as measured and shipped."""
        return replace(shipped_accuracy(), judge=self.identity.digest)

    def load(self) -> None:
        from rapidocr import RapidOCR

        logging.getLogger("RapidOCR").setLevel(logging.ERROR)
        self._reader = RapidOCR(
            params={
                "Global.log_level": "error",
                "Global.text_score": self._least_score,
                "EngineConfig.onnxruntime.intra_op_num_threads": self._threads_of_network,
            }
        )
        # Its networks are loaded with the first picture that has text.
        if self.read(_sample_picture()) != [_SAMPLE]:
            raise ModelError(f"the reader does not read {_SAMPLE!r} in black on white", "reinstall rapidocr")
        self._alphabet = frozenset(self._reader.text_rec.session.get_character_list())

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[Decisions]]:
        return [await self.run(self._judge, *item) for item in zip(images, checks, strict=True)]

    def _judge(self, picture: Picture, checks: Sequence[Check]) -> Reply[Decisions]:
        lines = self.read(picture)
        return Reply([self._decide(check, lines) for check in checks], raw=reading_to_raw(lines))

    def _decide(self, check: Check, lines: Sequence[str]) -> bool | None:
        """Open for what it cannot read: other checks, and texts with letters that it does not know."""
        if not is_text_check(check.kind) or not self.can_read(check.value):
            return None
        return says(check.value, lines, self.rules)

    def can_read(self, text: str) -> bool:
        return all(letter.isspace() or letter in self._alphabet for letter in text)

    def read(self, picture: Picture) -> list[str]:
        """The lines of text in a picture, in reading order."""
        pixels = np.ascontiguousarray(picture.array[:, :, ::-1])
        found = self._reader(pixels)
        return list(found.txts or ())


def _sample_picture() -> Picture:
    image = Image.new("RGB", (256, 128), "white")
    ImageDraw.Draw(image).text((128, 64), _SAMPLE, "black", ImageFont.load_default(48), anchor="mm")
    return Picture.from_image(image)


def shipped_accuracy() -> JudgeAccuracy:
    """Measured by `python -m benchmarks.ocr_judge --write`."""
    file = Path(__file__).with_name("ocr_accuracy.json")
    return JudgeAccuracy.from_json(file.read_text(encoding="utf-8"), file.name)


def create(role: str, config: ModelConfig) -> Model:
    return charge(OcrJudge(config), role, config.price)


class JudgeByFamily:
    """Hands every check to the judge of its family, and the rest to the judge for `*`."""

    batch = 1
    parallel = 1

    def __init__(self, judges: dict[str, Judge]) -> None:
        self.judges = judges
        members = {family: judge.identity.data for family, judge in judges.items()}
        names = " and ".join(judge.identity.model for judge in judges.values())
        self.identity = Identity("judge", "by_family", names, {"families": members})

    @property
    def accuracy(self) -> JudgeAccuracy:
        """What is known of each judge on its own checks. A judge without a table is taken at its word."""
        kinds: dict[str, KindAccuracy] = {ALL_OTHERS: KindAccuracy()}
        for family, judge in self.judges.items():
            known: JudgeAccuracy | None = getattr(judge, "accuracy", None)
            for kind, rates in (known.kinds if known else {}).items():
                if family == ALL_OTHERS or kind.partition(":")[0].lower() == family:
                    kinds[kind] = rates
        return JudgeAccuracy(kinds, judge=self.identity.digest, source="the tables that ship with its judges")

    async def start(self) -> None:
        for judge in self.judges.values():
            await judge.start()

    async def close(self) -> None:
        for judge in self.judges.values():
            await judge.close()

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[Decisions]]:
        items = zip(images, checks, strict=True)
        return list(await asyncio.gather(*(self._judge(picture, asked) for picture, asked in items)))

    async def _judge(self, picture: Picture, checks: Sequence[Check]) -> Reply[Decisions]:
        shares: dict[str, list[int]] = {}
        for place, check in enumerate(checks):
            shares.setdefault(self.family_of(check), []).append(place)
        asked = [
            self.judges[family].judge([picture], [[checks[place] for place in places]])
            for family, places in shares.items()
        ]
        replies = [rows[0] for rows in await asyncio.gather(*asked)]
        usage = reduce(Usage.__add__, (reply.usage for reply in replies), Usage(requests=0))
        raw = replies_as_text([reply.raw for reply in replies])
        unusable = next((reply for reply in replies if reply.value is None), None)
        if unusable is not None:
            return Reply(None, unusable.invalid, raw, usage)
        decisions: Decisions = [None] * len(checks)
        for places, reply in zip(shares.values(), replies, strict=True):
            for place, decision in zip(places, reply.value or (), strict=True):
                decisions[place] = decision
        return Reply(decisions, raw=raw, usage=usage)

    def family_of(self, check: Check) -> str:
        """`Text: says` → `text`; the check of the thing itself is of the family `entity`."""
        family = check.kind.partition(":")[0].lower()
        return family if family in self.judges else ALL_OTHERS


def create_by_family(role: str, config: ModelConfig) -> Model:
    families = config.params.get("families") or ()
    members = config.params.get("members") or ()
    if ALL_OTHERS not in families:
        raise ConfigError(
            f"judges by family need one for all other checks, but only {', '.join(families)} have a judge",
            'add `"*": {provider: …}` to `judge:`',
        )
    made = {
        str(family): cast(Judge, create_model(role, ModelConfig.model_validate(section)))
        for family, section in zip(families, members, strict=True)
    }
    return JudgeByFamily(made)
