"""The planted world as models: pictures really carry what they show, and the judge sees only the picture.

Both are whole models, for `provider: python` and for servers: the world's settings are their `params`.

Tiny pictures that carry what they show in their pixels, so that a judge can see it and nothing else.

The first pixels hold the facts as bytes; the rest is a pattern made from them. Only lossless formats keep it.
"""

import hashlib
import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from failscape.models.in_process import Unloaded
from failscape.models.roles import Identity, Reply, Usage
from failscape.pictures import Picture
from failscape.simulate.t2i_world import PlantedWorld
from failscape.spaces.lattice import Node
from failscape.trials import Check

SIDE = 24
#: Stands for "no value shown" in a sub-category.
NOTHING = 0xFFFF

_MAGIC = b"FSPW"
_HEAD = struct.Struct(">4sIQHB")
_HEADER = b"IHDR" + struct.pack(">IIBBBBB", SIDE, SIDE, 8, 2, 0, 0, 0)
_IHDR = _HEADER + struct.pack(">I", zlib.crc32(_HEADER))


@dataclass(frozen=True, slots=True)
class Shown:
    """The facts of a picture: indices into a corpus. `grain` is its noise, one number per image."""

    corpus: int
    grain: int
    entity: int
    values: tuple[int, ...] = ()


def draw(shown: Shown) -> Picture:
    head = _HEAD.pack(_MAGIC, shown.corpus, shown.grain, shown.entity, len(shown.values))
    payload = head + struct.pack(f">{len(shown.values)}H", *shown.values)
    payload += struct.pack(">I", zlib.crc32(payload))
    return Picture(_png(payload.ljust(SIDE * 3 * 2, b"\0") + _pattern(shown)))


def look(picture: Picture) -> Shown | None:
    """What the picture shows; `None` when it carries no facts."""
    data = _plain_pixels(picture.data)
    if data is None:
        pixels = picture.array
        if pixels.shape != (SIDE, SIDE, 3):
            return None
        data = pixels.tobytes()
    magic, corpus, grain, entity, count = _HEAD.unpack_from(data)
    end = _HEAD.size + 2 * count
    if (
        magic != _MAGIC
        or end + 4 > len(data)
        or zlib.crc32(data[:end]) != int.from_bytes(data[end : end + 4])
    ):
        return None
    return Shown(corpus, grain, entity, struct.unpack_from(f">{count}H", data, _HEAD.size))


def _pattern(shown: Shown) -> bytes:
    """Four by four blocks in colours of the facts, so that a person sees that two pictures differ."""
    facts = f"{shown.entity} {shown.values} {shown.grain}".encode()
    digest = hashlib.blake2b(facts, digest_size=48).digest()
    colours = [digest[3 * i : 3 * i + 3] for i in range(16)]
    rows = [b"".join(colours[row * 4 + column] * (SIDE // 4) for column in range(4)) for row in range(4)]
    return b"".join(rows[row * 4 // (SIDE - 2)] for row in range(SIDE - 2))


def _png(pixels: bytes) -> bytes:
    """A plain RGB PNG. Writing it here is five times as fast as a general encoder."""
    stride = SIDE * 3
    raw = b"".join(b"\0" + pixels[start : start + stride] for start in range(0, len(pixels), stride))
    chunks = (_HEADER, b"IDAT" + zlib.compress(raw, 1), b"IEND")
    parts = [
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    ]
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def _plain_pixels(data: bytes) -> bytes | None:
    """The pixels of a PNG as `_png` writes it; `None` for any other image, which takes the long way."""
    if data[12:33] != _IHDR or data[37:41] != b"IDAT":
        return None
    raw = zlib.decompress(data[41 : 41 + int.from_bytes(data[33:37])])
    stride = SIDE * 3 + 1
    if len(raw) != stride * SIDE or any(raw[::stride]):
        return None
    return b"".join(raw[start + 1 : start + stride] for start in range(0, len(raw), stride))


class _PlantedModel(Unloaded):
    """Settings are those of `PlantedWorld.named`, or a `world` made before."""

    role = ""

    def __init__(self, world: PlantedWorld | None = None, **settings: Any) -> None:
        self.world = world or PlantedWorld.named(**settings)
        corpus = {"corpus": f"{self.world.corpus_mark:08x}", "seed": self.world.seed}
        self.identity = Identity(self.role, "python", "planted", {**corpus, **settings})


class PlantedGenerator(_PlantedModel):
    """Draws what the caption asks for, or fails to, with the node's true rate."""

    role = "generator"

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return [
            Reply(self.draw(prompt, seed), usage=Usage(requests=0))
            for prompt, seed in zip(prompts, seeds, strict=True)
        ]

    def draw(self, prompt: str, seed: int) -> Picture:
        world = self.world
        node = world.understanding.node(prompt)
        if node is None or node not in world.lattice:
            return draw(self._anything(prompt, seed))
        subject = world.lattice.subject(node)
        grain = world.grain(subject, seed)
        plan = world.plan(subject)
        holds = world.outcome(plan.rate, plan.weights, grain)
        return draw(self._shown(node, holds, grain))

    def _shown(self, node: Node, holds: Sequence[bool], grain: int) -> Shown:
        """A check that drops shows another value of its kind, as a confused model would."""
        corpus = self.world.lattice.corpus
        entity = node.entity if holds[0] else _other(range(len(corpus.entities)), node.entity, grain)
        values = [
            value if held else _other(corpus.sub_categories[corpus.values[value].kind], value, grain)
            for value, held in zip(node.values, holds[1:], strict=True)
        ]
        return Shown(self.world.corpus_mark, grain, entity, tuple(values))

    def _anything(self, prompt: str, seed: int) -> Shown:
        """Captions of no node get a picture too: some entity, and nothing that was asked for."""
        grain = self.world.grain(prompt, seed)
        entity = zlib.crc32(prompt.encode()) % len(self.world.lattice.corpus.entities)
        return Shown(self.world.corpus_mark, grain, entity)


class PlantedJudge(_PlantedModel):
    """Looks at the facts in a picture and errs as the world's `accuracy` says."""

    role = "judge"

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return [self.decide(image, asked) for image, asked in zip(images, checks, strict=True)]

    def decide(self, image: Picture, checks: Sequence[Check]) -> Reply[list[bool | None]]:
        free = Usage(requests=0)
        shown = look(image)
        if shown is None or shown.corpus != self.world.corpus_mark:
            return Reply(None, "the picture carries no facts of this corpus", usage=free)
        if self.world.is_undecided(shown.grain):
            return Reply(None, "undecided", usage=free)
        seen = self._names(shown)
        return Reply([self._says(check, seen, shown.grain) for check in checks], usage=free)

    def _says(self, check: Check, seen: dict[str, str], grain: int) -> bool:
        return self.world.says(seen.get(check.kind) == check.value, check.kind, grain, check.value)

    def _names(self, shown: Shown) -> dict[str, str]:
        """Kind → the value that the picture shows."""
        corpus = self.world.lattice.corpus
        seen = {"entity": corpus.entities[shown.entity].name}
        for index in shown.values:
            if index != NOTHING:
                seen[corpus.values[index].kind] = corpus.values[index].name
        return seen


def _other(group: Sequence[int], member: int, grain: int) -> int:
    """Another member of the group, chosen by the image's grain; nothing when there is no other."""
    if len(group) < 2:
        return NOTHING
    return group[(group.index(member) + 1 + grain % (len(group) - 1)) % len(group)]
