"""Provider `toybox`: the shipped models in every role, in process. Only the questioner needs torch.

Each model runs in a worker thread of its own, the painter in two; onnxruntime lets go of the interpreter
while it works.

toy-world: the renderer as an image generator. A prompt is the key of a sight, and the scene is exact.
"""

import asyncio
import hashlib
import importlib.util
import itertools
import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra
from failscape.models.in_process import InProcess, Unloaded, charge
from failscape.models.roles import (
    AnswerToVerify,
    Conversation,
    Identity,
    Model,
    Ranking,
    Reply,
    Usage,
    Verification,
)
from failscape.pictures import Picture
from failscape.stats.judging.accuracy import JudgeAccuracy
from failscape.toybox import world
from failscape.toybox.asking import VERSION, scene_of
from failscape.toybox.clip_asking import CLIP, draw_clip
from failscape.toybox.clip_target import PLANTED_CLIPS, PlantedClipAnswers
from failscape.toybox.eyes import HEADS, NONE, Eyes, decide, eyes_accuracy, target_of
from failscape.toybox.networks import CLASSIFIERS, MODELS, ToyClassifier
from failscape.toybox.painter import PAINTER_BATCH, ToyPainter
from failscape.toybox.pair_painter import PAIR_PAINTER, SCENE_JUDGE, PairPainter, SceneJudge
from failscape.toybox.questions import SKILLS, normal_answer
from failscape.toybox.renderer import RENDERER, Renderer, redraw
from failscape.toybox.vlm import ToyVlm
from failscape.trials import Check

BATCH = 32
SIDE = 64
WORLD = "toy-world"
VLM_OF_PARTS = "toy-vlm-parts"
#: Roles whose network the tools of the repository can train on.
TRAINED = ("generator", "answerer")


class ToyModel(InProcess):
    """What the toybox roles share: an identity bound to the weights, a worker thread, loading on start."""

    def __init__(self, role: str, weights: str, load: Callable[[], Any], config: ModelConfig) -> None:
        file = Path(config.path).expanduser() if config.path else MODELS / weights
        self.identity = Identity(role, "toybox", weights, {"weights": weights_digest(file)})
        self.batch = config.batch or BATCH
        self._open = load

    def load(self) -> None:
        self._network: Any = self._open()


class Painter(ToyModel):
    """Takes most of a demo's time, so the parts of a call are painted side by side where there are cores.

    Calls still come one after the other: two at a time would finish in any order, and a seeded hunt would
    not be the same hunt twice.
    """

    threads = min(2, os.cpu_count() or 1)

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        parts = (slice(at, at + PAINTER_BATCH) for at in range(0, len(prompts), PAINTER_BATCH))

        def paint(part: slice) -> list[Reply[Picture]]:
            images = self._network.paint(prompts[part], seeds[part])
            return [Reply(Picture.from_array(image)) for image in images]

        painted = await asyncio.gather(*(self.run(paint, part) for part in parts))
        return [reply for part in painted for reply in part]


class ToyEditor(ToyModel):
    """Sees with toy-eyes what is there, changes what the instruction mentions, and renders it anew."""

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        return await self.run(self._edit, images, instructions, seeds)

    def _edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        seen = self._network.look(pixels_of(images)).labels
        rows = [{head: values[at] for head, values in seen.items()} for at in range(len(images))]
        drawn = [redraw(row, text, seed) for row, text, seed in zip(rows, instructions, seeds, strict=True)]
        unknown: Reply[Picture] = Reply(None, "toy-eyes cannot name what the picture shows")
        return [unknown if one is None else Reply(Picture.from_array(one)) for one in drawn]


class EyesJudge(ToyModel):
    @property
    def accuracy(self) -> JudgeAccuracy:
        """How often it errs, as measured and shipped."""
        return replace(eyes_accuracy(), judge=self.identity.digest)

    async def judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        return await self.run(self._judge, images, checks)

    def _judge(
        self, images: Sequence[Picture], checks: Sequence[Sequence[Check]]
    ) -> list[Reply[list[bool | None]]]:
        seen = self._network.look(pixels_of(images))
        return [_judged(seen, at, row) for at, row in enumerate(checks)]


def _judged(seen: Any, at: int, checks: Sequence[Check]) -> Reply[list[bool | None]]:
    """Decisions, and how sure it is of each where all of them are about its world."""
    targets = [target for check in checks if (target := target_of(check))]
    sure = tuple(round(seen.chance(at, *target), 4) for target in targets)
    decided = [decide(seen, at, check) for check in checks]
    return Reply(decided, confidence=sure if len(sure) == len(checks) else ())


class EyesCaptioner(ToyModel):
    async def caption(self, images: Sequence[Picture]) -> list[Reply[list[str]]]:
        sentences = await self.run(lambda: self._network.captions(pixels_of(images)))
        return [Reply(list(each)) for each in sentences]


class EyesEmbedder(ToyModel):
    """Pictures and captions in one space: one number per value of every attribute."""

    async def embed(self, items: Sequence[str | Picture]) -> list[Reply[list[float]]]:
        return [Reply(vector) for vector in await self.run(self._embed, items)]

    def _embed(self, items: Sequence[str | Picture]) -> list[list[float]]:
        labels = [(name, value) for name, values in world.ALLOWED.items() for value in values]
        seen = self._network.look(pixels_of([item for item in items if isinstance(item, Picture)]))
        vectors, order = [], itertools.count()
        for item in items:
            if isinstance(item, str):
                said = world.parse_caption(item)
                vectors.append([float(said.get(name) == value) for name, value in labels])
            else:
                at = next(order)
                vectors.append([float(seen.chance(at, name, value)) for name, value in labels])
        return vectors


class ToyLabels(ToyModel):
    async def classify(self, images: Sequence[Picture]) -> list[Reply[Ranking]]:
        rankings = await self.run(lambda: self._network.classify(pixels_of(images)))
        return [Reply(ranking) for ranking in rankings]


class ToyAnswers(ToyModel):
    """Answers about the first image; the toy model has no memory of earlier turns."""

    async def answer(self, conversations: Sequence[Conversation]) -> list[Reply[str]]:
        shown = [talk for talk in conversations if talk.images]
        images, questions = [talk.images[0] for talk in shown], [talk.question for talk in shown]
        answers = iter(await self.run(lambda: self._network.answer(pixels_of(images), questions)))
        blind: Reply[str] = Reply(None, "toy-vlm answers questions about an image, but there is none")
        return [Reply(next(answers)) if talk.images else blind for talk in conversations]


class ToyQuestions(ToyModel):
    """Looks at the first image with toy-eyes and asks about what it saw.

    Guidance that is the name of a skill ("counting") is followed; the model understands no other.
    """

    async def propose(
        self, images: Sequence[tuple[Picture, ...]], guidance: Sequence[str], counts: Sequence[int]
    ) -> list[Reply[list[str]]]:
        return await self.run(
            lambda: [self._propose(*item) for item in zip(images, guidance, counts, strict=True)]
        )

    def _propose(self, images: tuple[Picture, ...], guidance: str, count: int) -> Reply[list[str]]:
        eyes, writer = self._network
        if not images:
            return Reply(None, "toy-questioner asks about an image, but there is none")
        request = "/".join([*(image.digest for image in images), guidance, str(count)])
        # The same request gives the same questions, so that a run can be repeated.
        seed = int.from_bytes(hashlib.blake2b(request.encode(), digest_size=4).digest(), "big")
        skill = guidance if guidance in SKILLS else None
        (asked,) = writer.propose([caption_of(eyes, images[0])], count, seed=seed, skill=skill)
        kept = list(dict.fromkeys(question for question in asked if question))
        return Reply(kept) if kept else Reply(None, "toy-questioner wrote no question")


class ToyVerifier(Unloaded):
    """Compares an answer with the truth that the probe brings along: no model, no error.

    "2" and "two", "A cow." and "cow" are the same answer.
    """

    def __init__(self, config: ModelConfig) -> None:
        self.identity = Identity("verifier", "toybox", "exact")
        self.batch = config.batch or BATCH

    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        return [Reply(_compare(given)) for given in answers]


def _compare(given: AnswerToVerify) -> Verification:
    if not given.truth:
        return Verification(None, None, "the toybox verifier needs a known right answer")
    right = normal_answer(given.answer) == normal_answer(given.truth)
    return Verification(True, right, "" if right else f"the right answer is {given.truth}")


def weights_digest(path: Path) -> str:
    """A name for the content of a model's file, or of all files in its folder."""
    if not path.exists():
        raise ConfigError(
            f"the toybox has no {path.name}: {path} does not exist",
            "install the whole package, or train it (docs/toybox.md)",
        )
    files = sorted(path.iterdir()) if path.is_dir() else [path]
    digest = hashlib.blake2b(digest_size=8)
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def pixels_of(pictures: Sequence[Picture]) -> NDArray[np.uint8]:
    """All pictures at the size the toy models were trained on."""
    rows = [_pixels(picture) for picture in pictures]
    return np.stack(rows) if rows else np.zeros((0, SIDE, SIDE, 3), dtype=np.uint8)


def _pixels(picture: Picture) -> NDArray[np.uint8]:
    image = picture.image.convert("RGB")
    if image.size != (SIDE, SIDE):
        image = image.resize((SIDE, SIDE), Image.Resampling.BOX)
    return np.asarray(image)


def create(role: str, config: ModelConfig) -> Model:
    """The toybox model that plays `role`. `model` chooses among the classifiers; params are not taken.

    `path` gives toy-painter and toy-vlm other weights: those of a training of one's own.
    """
    if config.params:
        raise ConfigError(f"toybox models take no params, but got {config.params}", "remove `params`")
    if config.path and (role not in TRAINED or config.model in (RENDERER, WORLD, PAIR_PAINTER)):
        raise ConfigError(
            f"`path: {config.path}`: of the toybox only toy-painter and toy-vlm take other weights",
            "remove `path`; a classifier of your own is reached by `provider: onnx`",
        )
    choices: dict[str, Callable[[], Model]] = {
        "generator": lambda: _generator(config),
        "editor": lambda: ToyEditor(role, "eyes.onnx", Eyes, config),
        "judge": lambda: _judge(config),
        "captioner": lambda: EyesCaptioner(role, "eyes.onnx", Eyes, config),
        "embedder": lambda: EyesEmbedder(role, "eyes.onnx", Eyes, config),
        "classifier": lambda: _classifier(config),
        "answerer": lambda: _answerer(config),
        "questioner": lambda: _questioner(config),
        "verifier": lambda: ToyVerifier(config),
    }
    return charge(choices[role](), role, config.price)


def _generator(config: ModelConfig) -> Model:
    """toy-painter, a network, unless the renderer itself is asked for."""
    if config.model == RENDERER:
        return Renderer(config.batch or BATCH)
    if config.model == WORLD:
        return ToyWorld()
    if config.model == PAIR_PAINTER:
        return PairPainter()
    return Painter("generator", "painter.onnx", _loaded(ToyPainter, config), config)


def _judge(config: ModelConfig) -> Model:
    """toy-eyes, a network, unless the exact judge of scenes is asked for."""
    if config.model == SCENE_JUDGE:
        return SceneJudge()
    return EyesJudge("judge", "eyes.onnx", Eyes, config)


def _answerer(config: ModelConfig) -> Model:
    """toy-vlm, unless the one is asked for that was trained further on questions put together from parts."""
    if config.model == PLANTED_CLIPS:
        return PlantedClipAnswers(config)
    if config.video is not None:
        raise ConfigError(
            f"toy-vlm looks at pictures, but got `video` for {config.model or 'toy-vlm'}",
            f"remove `video`, or use `model: {PLANTED_CLIPS}`",
        )
    if config.model == VLM_OF_PARTS and not config.path:
        weights = f"{VLM_OF_PARTS}.onnx"
        return ToyAnswers("answerer", weights, partial(ToyVlm, MODELS / weights), config)
    return ToyAnswers("answerer", "vlm.onnx", _loaded(ToyVlm, config), config)


def _loaded(network: Callable[..., Any], config: ModelConfig) -> Callable[[], Any]:
    """With the shipped weights, or those at `path`."""
    return partial(network, Path(config.path).expanduser()) if config.path else network


def _classifier(config: ModelConfig) -> Model:
    name = config.model or CLASSIFIERS[0]
    if name not in CLASSIFIERS:
        raise ConfigError(f"there is no toybox classifier {name!r}", f"use one of {', '.join(CLASSIFIERS)}")
    return ToyLabels("classifier", f"classifier-{name}.onnx", partial(ToyClassifier, name), config)


def _questioner(config: ModelConfig) -> Model:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        raise MissingExtra("the toybox questioner", "transformers")
    return ToyQuestions("questioner", "questioner", _load_questioner, config)


def _load_questioner() -> tuple[Eyes, Any]:
    from failscape.toybox.questioner import ToyQuestioner  # here: it needs torch

    return Eyes(), ToyQuestioner()


def caption_of(eyes: Eyes, picture: Picture) -> str:
    """What toy-eyes sees, as one caption in the words of the world."""
    seen = eyes.look(pixels_of([picture]))
    labels = {head: values[0] for head, values in seen.labels.items()}
    if labels["entity"] == NONE:  # the questioner has to ask about something: the likeliest thing
        chances = seen.probabilities["entity"][0]
        labels["entity"] = max(world.ENTITIES, key=lambda name: chances[HEADS["entity"].index(name)])
    return world.caption(world.build_scene(world.Attributes(**labels)))


class ToyWorld(Unloaded):
    """Draws what `ToyGrammar` made up. It is no network: seeds change nothing, and it never fails."""

    def __init__(self) -> None:
        self.identity = Identity("generator", "toybox", WORLD, {"version": VERSION})

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        return [Reply(_drawn(prompt), usage=Usage(requests=0)) for prompt in prompts]


def _drawn(key: str) -> Picture:
    return draw_clip(key) if key.startswith(CLIP) else Picture.from_array(world.render(scene_of(key)))
