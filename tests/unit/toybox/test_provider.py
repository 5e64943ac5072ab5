"""Provider `toybox` keeps what every model promises, in every role, and is honest about what it cannot do."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import pytest

from failscape.config import ModelConfig
from failscape.errors import ConfigError, MissingExtra
from failscape.models.registry import OUR_PROVIDERS, create_model
from failscape.models.roles import ROLES, AnswerToVerify, Conversation, Model
from failscape.pictures import Picture
from failscape.testing.model_suite import (
    AnswererSuite,
    CaptionerSuite,
    ClassifierSuite,
    EmbedderSuite,
    GeneratorSuite,
    JudgeSuite,
    QuestionerSuite,
    VerifierSuite,
)
from failscape.toybox import provider, world
from failscape.toybox.networks import CLASSIFIERS, MODELS
from failscape.toybox.painter import ToyPainter
from failscape.toybox.provider import Painter, pixels_of
from failscape.trials import Check


def drawn(**attributes: str) -> Picture:
    return Picture.from_array(world.render_attributes(world.Attributes(**attributes)))


PENGUIN, RED_CAR = drawn(entity="penguin", place="snow"), drawn(entity="car", colour="red", place="beach")
SCENES = (PENGUIN, RED_CAR, drawn(entity="banana"))


class InToybox:
    role: ClassVar[str]
    model: ClassVar[str] = ""

    def make_model(self) -> Model:
        return create_model(self.role, ModelConfig(provider="toybox", model=self.model))


class TestPainter(InToybox, GeneratorSuite):
    """toy-painter."""


class TestJudge(InToybox, JudgeSuite):
    images = SCENES
    checks = (Check("entity", "penguin", "It is a penguin."), Check("Base: colour", "red", "It is red."))

    def test_it_sees_what_is_there(self) -> None:
        replies = self.use(lambda model: self.ask(model, 2))
        assert [reply.value for reply in replies] == [[True, False], [False, True]]

    def test_it_decides_nothing_about_another_world(self) -> None:
        odd = Check("entity", "unicorn", "It is a unicorn.")
        (reply,) = self.use(lambda model: model.judge([PENGUIN], [[odd]]))
        assert reply.value == [None]


class TestCaptioner(InToybox, CaptionerSuite):
    images = SCENES

    def test_it_names_what_is_there(self) -> None:
        replies = self.use(lambda model: self.ask(model, 2))
        assert ["penguin" in " ".join(reply.value) for reply in replies] == [True, False]
        assert "the car is red." in replies[1].value


class TestEmbedder(InToybox, EmbedderSuite):
    items = ("a red car on a beach", RED_CAR, "a penguin in the snow", PENGUIN)

    def test_a_picture_is_nearest_to_its_caption(self) -> None:
        async def work(model: Any) -> list[list[float]]:
            return [reply.value for reply in await model.embed(self.items)]

        car_text, car, penguin_text, penguin = self.use(work)
        assert nearness(car, car_text) > nearness(car, penguin_text)
        assert nearness(penguin, penguin_text) > nearness(penguin, car_text)


class OfClassifier(InToybox, ClassifierSuite):
    images = SCENES
    __test__ = False

    def test_it_ranks_all_things_of_the_world(self) -> None:
        (reply,) = self.use(lambda model: self.ask(model, 1))
        assert {label for label, _ in reply.value} == set(world.ENTITIES)
        assert sum(score for _, score in reply.value) == pytest.approx(1, abs=1e-4)


class TestCnn(OfClassifier):
    __test__ = True
    model = "cnn"


class TestResnet(OfClassifier):
    __test__ = True
    model = "resnet"


class TestVit(OfClassifier):
    __test__ = True
    model = "vit"


class TestAnswerer(InToybox, AnswererSuite):
    images = SCENES[:2]

    def test_a_question_without_an_image_has_no_answer(self) -> None:
        talks = [Conversation((), "is there a cow?"), Conversation((PENGUIN,), "is there a penguin?")]
        blind, seeing = self.use(lambda model: model.answer(talks))
        assert blind.value is None
        assert "image" in blind.invalid
        assert isinstance(seeing.value, str)


class TestVerifier(InToybox, VerifierSuite):
    @pytest.mark.parametrize(
        ("answer", "truth", "right"),
        [
            ("Two.", "2", True),
            ("a cow", "Cow.", True),
            ("cows", "cow", True),
            ("red", "blue", False),
            ("", "no", False),
        ],
    )
    def test_answers_are_compared_by_what_they_say(self, answer: str, truth: str, right: bool) -> None:
        claim = AnswerToVerify((), "what?", answer, truth=truth)
        (reply,) = self.use(lambda model: model.verify([claim]))
        assert (reply.value.valid, reply.value.right) == (True, right)
        assert truth in reply.value.reason or right

    def test_without_a_known_truth_it_does_not_commit(self) -> None:
        (reply,) = self.use(lambda model: self.ask(model, 1))
        assert (reply.value.valid, reply.value.right) == (None, None)


@pytest.mark.extra("torch", "transformers")
class TestQuestioner(InToybox, QuestionerSuite):
    images = SCENES[:1]


def nearness(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def test_it_plays_every_role() -> None:
    assert OUR_PROVIDERS["toybox"].roles == tuple(ROLES)


def test_the_questioner_says_what_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(provider.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra) as caught:
        create_model("questioner", ModelConfig(provider="toybox"))
    assert caught.value.fix == "pip install 'failscape[transformers]'"


class Writer:
    """In place of the language model: remembers what it is asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[list[str], int, int, str | None]] = []

    def propose(self, captions: list[str], n: int, *, seed: int, skill: str | None) -> list[list[str]]:
        self.asked.append((captions, n, seed, skill))
        return [["is there a cow?", "is there a cow?", ""][:n] for _ in captions]


def test_the_questioner_reads_the_picture_and_can_be_repeated(monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer()
    monkeypatch.setattr(provider.importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(provider, "weights_digest", lambda name: "digest")
    monkeypatch.setattr(provider, "_load_questioner", lambda: (provider.Eyes(), writer))

    async def work() -> list[Any]:
        model: Any = create_model("questioner", ModelConfig(provider="toybox"))
        await model.start()
        replies = await model.propose([(PENGUIN,), (PENGUIN,), (RED_CAR,)], ["", "", "counting"], [3, 3, 1])
        blind = await model.propose([()], ["counting"], [1])
        await model.close()
        return [*replies, *blind]

    first, again, other, blind = asyncio.run(work())
    assert first.value == again.value == other.value == ["is there a cow?"]
    assert blind.value is None
    (caption,), number, seed, skill = writer.asked[0]
    assert "penguin" in caption
    assert (number, skill) == (3, None)
    assert writer.asked[1] == writer.asked[0]
    assert writer.asked[2][3] == "counting"
    assert writer.asked[2][2] != seed


def test_a_missing_network_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setattr(provider, "MODELS", tmp_path)
    with pytest.raises(ConfigError, match=r"eyes\.onnx"):
        create_model("judge", ModelConfig(provider="toybox"))


def test_an_unknown_classifier_gets_the_names() -> None:
    with pytest.raises(ConfigError) as caught:
        create_model("classifier", ModelConfig(provider="toybox", model="alexnet"))
    assert all(name in caught.value.fix for name in CLASSIFIERS)


def test_the_painter_and_the_vlm_take_other_weights_and_are_others_by_them(tmp_path: Path) -> None:
    for role, name in (("generator", "painter.onnx"), ("answerer", "vlm.onnx")):
        mine = tmp_path / name
        mine.write_bytes((MODELS / name).read_bytes())
        config = ModelConfig(provider="toybox", path=str(mine))
        shipped = create_model(role, ModelConfig(provider="toybox"))
        assert create_model(role, config).identity == shipped.identity
        mine.write_bytes(mine.read_bytes() + b" ")
        assert create_model(role, config).identity != shipped.identity
    with pytest.raises(ConfigError, match=r"gone\.onnx does not exist"):
        create_model("generator", ModelConfig(provider="toybox", path=str(tmp_path / "gone.onnx")))
    for role, model in (("judge", ""), ("classifier", "cnn"), ("generator", "renderer")):
        with pytest.raises(ConfigError, match="only toy-painter and toy-vlm take other weights"):
            create_model(role, ModelConfig(provider="toybox", model=model, path="other.onnx"))


def test_params_are_refused() -> None:
    with pytest.raises(ConfigError, match="no params"):
        create_model("judge", ModelConfig(provider="toybox", params={"temperature": 1}))


def test_pictures_of_any_size_and_mode_are_brought_to_ours() -> None:
    large = Picture.from_image(PENGUIN.image.resize((128, 128), 0).convert("RGBA"))
    assert pixels_of([large, PENGUIN]).tolist() == [PENGUIN.array.tolist()] * 2
    assert pixels_of([]).shape == (0, 64, 64, 3)


@pytest.mark.parametrize("threads", [1, 2, 4])
async def test_pictures_and_their_order_do_not_depend_on_the_threads_that_paint(
    monkeypatch: pytest.MonkeyPatch, threads: int
) -> None:
    prompts, seeds = [f"a {word}" for word in ("cow", "car", "cat", "cup") * 5], list(range(20))
    monkeypatch.setattr(Painter, "threads", threads)
    model = create_model("generator", ModelConfig(provider="toybox"))
    assert isinstance(model, Painter)
    assert model.parallel == 1, "calls come one after the other"
    await model.start()
    try:
        replies = await model.generate(prompts, seeds)
    finally:
        await model.close()
    alone = ToyPainter().paint(prompts, seeds)
    assert [reply.value.data for reply in replies if reply.value] == [
        Picture.from_array(image).data for image in alone
    ]
