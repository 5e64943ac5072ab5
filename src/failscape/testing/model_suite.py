"""What every model must promise, as tests: subclass the suite of its role and give `make_model`.

Plain pytest classes without async tests, so that they run under any pytest set-up:

    class TestMyPainter(GeneratorSuite):
        def make_model(self) -> Model:
            return create_model("generator", ModelConfig(provider="mine", …))
"""

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from typing import Any, TypeVar

from PIL import Image

from failscape.models.roles import ROLES, AnswerToVerify, Conversation, Model, Reply, Verification
from failscape.pictures import Picture
from failscape.trials import Check

T = TypeVar("T")


def plain_pictures(*colours: str) -> list[Picture]:
    return [Picture.from_image(Image.new("RGB", (32, 32), colour)) for colour in colours]


class ModelSuite:
    """What all roles promise. Name your subclass `Test…`."""

    role = ""

    def make_model(self) -> Model:
        """A fresh model, not yet started; every call gives an equal one."""
        raise NotImplementedError

    async def ask(self, model: Any, count: int) -> Any:
        """Call the role's method with `count` items: one reply each."""

        raise NotImplementedError

    def check_value(self, value: Any) -> None:
        """Assert that a value is of the role's kind."""
        raise NotImplementedError

    def use(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """Do something with a started model, then close it."""

        async def live() -> T:
            model = self.make_model()
            await model.start()
            try:
                return await work(model)
            finally:
                await model.close()

        return asyncio.run(live())

    def test_has_what_all_models_have(self) -> None:
        model = self.make_model()
        assert isinstance(model, Model)
        assert isinstance(model.batch, int)
        assert model.batch >= 1
        assert model.parallel >= 1
        assert inspect.iscoroutinefunction(getattr(model, ROLES[self.role][1]))

    def test_identity_is_stable_plain_data_of_this_role(self) -> None:
        one, other = self.make_model().identity, self.make_model().identity
        assert one.role == self.role
        assert one.digest == other.digest
        assert json.loads(json.dumps(one.data, default=str))["role"] == self.role

    def test_identity_does_not_change_by_use(self) -> None:
        async def work(model: Any) -> tuple[str, str]:
            before = model.identity.digest
            await self.ask(model, 1)
            return before, model.identity.digest

        before, after = self.use(work)
        assert before == after == self.make_model().identity.digest

    def test_one_reply_per_item(self) -> None:
        for count in (1, 3):
            replies = self.use(partial(self.ask, count=count))
            assert len(replies) == count
            for reply in replies:
                assert isinstance(reply, Reply)
                assert reply.value is not None, reply.invalid
                assert reply.usage.requests >= 0
                self.check_value(reply.value)

    def test_no_items_no_replies(self) -> None:
        assert list(self.use(lambda model: self.ask(model, 0))) == []

    def test_calls_may_overlap(self) -> None:
        async def work(model: Any) -> list[Any]:
            return list(await asyncio.gather(*(self.ask(model, 1) for _ in range(8))))

        for replies in self.use(work):
            assert [reply.value is not None for reply in replies] == [True]

    def test_may_be_closed_without_a_call_and_started_again(self) -> None:
        async def work() -> Any:

            model = self.make_model()
            await model.close()
            await model.start()
            await model.close()
            await model.start()
            replies = await self.ask(model, 1)
            await model.close()
            return replies

        assert asyncio.run(work())[0].value is not None


class GeneratorSuite(ModelSuite):
    role = "generator"
    prompts = ("a red cat", "a blue cup on a beach", "three green cars")

    async def ask(self, model: Any, count: int) -> Any:
        return await model.generate(list(self.prompts[:count]), list(range(count)))

    def check_value(self, value: Any) -> None:
        assert isinstance(value, Picture)
        assert value.format
        assert min(value.image.size) > 0

    def test_same_seed_same_picture_and_other_seed_other_picture(self) -> None:
        async def work(model: Any) -> list[str]:
            replies = await model.generate([self.prompts[0]] * 3, [7, 7, 8])
            return [reply.value.digest for reply in replies]

        first, again, other = self.use(work)
        assert first == again
        assert first != other

    def test_order_is_kept(self) -> None:
        prompts, seeds = list(self.prompts), [1, 2, 3]

        async def work(model: Any) -> tuple[list[str], list[str]]:
            together = await model.generate(prompts, seeds)
            alone = [(await model.generate([p], [s]))[0] for p, s in zip(prompts, seeds, strict=True)]
            return [reply.value.digest for reply in together], [reply.value.digest for reply in alone]

        together, alone = self.use(work)
        assert together == alone


class JudgeSuite(ModelSuite):
    role = "judge"
    images = tuple(plain_pictures("red", "lime", "blue"))
    checks = (
        Check("entity", "cat", "It is a cat.", ("dog", "cow")),
        Check("Base: Colour", "red", "It is red.", ("blue", "green")),
    )

    async def ask(self, model: Any, count: int) -> Any:
        return await model.judge(list(self.images[:count]), [self.checks] * count)

    def check_value(self, value: Any) -> None:
        assert len(value) == len(self.checks)
        assert all(held is None or isinstance(held, bool) for held in value)


class ClassifierSuite(ModelSuite):
    role = "classifier"
    images = tuple(plain_pictures("red", "lime", "blue"))

    async def ask(self, model: Any, count: int) -> Any:
        return await model.classify(list(self.images[:count]))

    def check_value(self, value: Any) -> None:
        assert value
        assert all(isinstance(label, str) and isinstance(score, float) for label, score in value)
        scores = [score for _, score in value]
        assert scores == sorted(scores, reverse=True)


class CaptionerSuite(ModelSuite):
    role = "captioner"
    images = tuple(plain_pictures("red", "lime", "blue"))

    async def ask(self, model: Any, count: int) -> Any:
        return await model.caption(list(self.images[:count]))

    def check_value(self, value: Any) -> None:
        assert value
        assert all(isinstance(sentence, str) and sentence.strip() for sentence in value)


class AnswererSuite(ModelSuite):
    role = "answerer"
    images = tuple(plain_pictures("red", "lime"))

    async def ask(self, model: Any, count: int) -> Any:
        talk = Conversation(self.images, "Which colours?", (("How many pictures?", "Two."),))
        return await model.answer([talk] * count)

    def check_value(self, value: Any) -> None:
        assert isinstance(value, str)


class VerifierSuite(ModelSuite):
    role = "verifier"
    images = tuple(plain_pictures("red"))

    async def ask(self, model: Any, count: int) -> Any:
        return await model.verify([AnswerToVerify(self.images, "Which colour?", "Red.")] * count)

    def check_value(self, value: Any) -> None:
        assert isinstance(value, Verification)
        assert value.valid in (True, False, None)
        assert value.right in (True, False, None)


class QuestionerSuite(ModelSuite):
    role = "questioner"
    images = tuple(plain_pictures("red"))

    async def ask(self, model: Any, count: int) -> Any:
        return await model.propose([self.images] * count, ["colour"] * count, [2] * count)

    def check_value(self, value: Any) -> None:
        assert 1 <= len(value) <= 2
        assert all(isinstance(question, str) and question.strip() for question in value)


class EmbedderSuite(ModelSuite):
    """Give `items`: texts or pictures, as the model takes them."""

    role = "embedder"
    items: Sequence[str | Picture] = ("a red cat", "a blue cup", "a green car")

    async def ask(self, model: Any, count: int) -> Any:
        return await model.embed(list(self.items[:count]))

    def check_value(self, value: Any) -> None:
        assert value
        assert all(isinstance(number, float) for number in value)

    def test_equal_items_have_equal_vectors_of_one_length(self) -> None:
        async def work(model: Any) -> list[list[float]]:
            return [reply.value for reply in await model.embed([*self.items, self.items[0]])]

        vectors = self.use(work)
        assert vectors[0] == vectors[-1]
        assert len({len(vector) for vector in vectors}) == 1


SUITES: dict[str, type[ModelSuite]] = {
    suite.role: suite
    for suite in (
        GeneratorSuite,
        JudgeSuite,
        ClassifierSuite,
        CaptionerSuite,
        AnswererSuite,
        VerifierSuite,
        QuestionerSuite,
        EmbedderSuite,
    )
}
