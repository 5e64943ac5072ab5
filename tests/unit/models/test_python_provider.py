from __future__ import annotations

import asyncio
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from failscape.config import ModelConfig
from failscape.errors import BadReply, ConfigError, Permanent
from failscape.models.providers import python_roles
from failscape.models.registry import create_model
from failscape.models.roles import METHODS, AnswerToVerify, Conversation, Identity, Reply, Verification
from failscape.pictures import Picture
from failscape.trials import Check

HERE = __name__
RED = Picture.from_image(Image.new("RGB", (8, 8), "red"))
CHECKS = [Check("entity", "cat", "It is a cat."), Check("Base: Colour", "red", "It is red.")]


def draw(prompt: str, seeds: list[int]) -> list[Image.Image]:
    return [Image.new("RGB", (4, 4), (len(prompt), seed, 0)) for seed in seeds]


def draw_arrays(prompt: str, seeds: list[int]) -> list[Any]:
    return [np.full((4, 4, 3), seed, np.uint8) for seed in seeds]


def draw_bytes(prompt: str, seeds: list[int]) -> list[bytes]:
    return [RED.data for _ in seeds]


async def draw_async(prompt: str, seeds: list[int]) -> list[Image.Image]:
    await asyncio.sleep(0)
    return draw(prompt, seeds)


def draw_batch(prompts: list[str], seeds: list[int]) -> list[Image.Image]:
    return [draw(prompt, [seed])[0] for prompt, seed in zip(prompts, seeds, strict=True)]


draw_batch.batched = True  # type: ignore[attr-defined]


class Painter:
    def __init__(self, level: int = 0) -> None:
        self.level = level

    def __call__(self, prompt: str, seeds: list[int]) -> list[Image.Image]:
        return [Image.new("RGB", (4, 4), (self.level, seed, 0)) for seed in seeds]


class FastPainter:
    """Has the role's own method: used as it is."""

    inline = True
    batch = 64

    def generate(self, prompts: list[str], seeds: list[int]) -> list[Reply[Picture]]:
        return [Reply(RED, raw=threading.current_thread().name) for _ in prompts]


class WholeModel:
    identity = Identity("generator", "python", "whole")
    batch = 3
    parallel = 1

    async def start(self) -> None: ...
    async def close(self) -> None: ...
    async def generate(self, prompts: list[str], seeds: list[int]) -> list[Reply[Picture]]:
        return [Reply(RED) for _ in prompts]


def judge(image: Image.Image, checks: list[Check]) -> list[bool]:
    return [image.getpixel((0, 0)) == (255, 0, 0) and check.value == "red" for check in checks]


def classify(images: list[Image.Image]) -> list[list[tuple[str, float]]]:
    return [[("b", 0.1), ("a", 0.9)] for _ in images]


def caption(image: Image.Image) -> str:
    return f"A picture. It shows\n{image.width} pixels. No. 5 of Dr. Who."


def answer(images: list[Image.Image], question: str) -> str:
    return f"{len(images)} {question}"


def answer_with_history(images: list[Image.Image], question: str, history: list[tuple[str, str]]) -> str:
    return f"{question} after {len(history)}"


def verify(images: list[Image.Image], question: str, answer: str) -> tuple[bool, bool]:
    return True, answer == "4"


def embed(items: list[str]) -> Any:
    return np.arange(2 * len(items), dtype=np.float32).reshape(-1, 2)


def embed_texts(items: list[str]) -> Any:
    return [[float(len(item)), float(ord(item[0]))] for item in items]


def propose(images: list[Image.Image], guidance: str, n: int) -> list[str]:
    return [f"{guidance} {i}?" for i in range(n)]


def chat(messages: list[dict[str, str]]) -> str:
    return messages[-1]["content"].upper()


def wrong(*arguments: Any) -> Any:
    return 42


def crash(prompt: str, seeds: list[int]) -> list[Image.Image]:
    if prompt == "crash":
        raise ValueError("out of paint")
    return draw(prompt, seeds)


THING = 3


async def started(role: str, name: str, **settings: Any) -> Any:
    model = create_model(role, ModelConfig(provider="python", path=f"{HERE}:{name}", **settings))
    await model.start()
    return model


@pytest.mark.parametrize("name", ["draw", "draw_arrays", "draw_bytes", "draw_async", "draw_batch", "Painter"])
async def test_generators_of_every_kind(name: str) -> None:
    model = await started("generator", name)
    replies = await model.generate(["a", "a", "b"], [1, 2, 1])
    assert len(replies) == 3
    assert all(reply.value.image.size in ((4, 4), (8, 8)) for reply in replies)
    await model.close()


async def test_neighbours_with_one_prompt_share_a_call() -> None:
    calls: list[tuple[str, list[int]]] = []
    model = await started("generator", "draw")
    model._function = lambda prompt, seeds: calls.append((prompt, seeds)) or draw(prompt, seeds)  # type: ignore[func-returns-value]
    await model.generate(["a", "a", "b", "a"], [1, 2, 3, 4])
    assert calls == [("a", [1, 2]), ("b", [3]), ("a", [4])]
    await model.close()


async def test_classes_get_params_and_so_do_functions() -> None:
    model = await started("generator", "Painter", params={"level": 9})
    (reply,) = await model.generate(["a"], [1])
    assert reply.value.array[0, 0].tolist() == [9, 1, 0]
    await model.close()
    with pytest.raises(ConfigError, match="params"):
        await started("generator", "Painter", params={"nonsense": 1})


async def test_an_object_with_the_roles_method_is_used_in_the_loop() -> None:
    model = await started("generator", "FastPainter")
    assert model.batch == 64
    replies = await model.generate(["a"] * 3, [1, 2, 3])
    assert {reply.raw for reply in replies} == {threading.current_thread().name}
    await model.close()


async def test_a_whole_model_is_taken_as_it_is() -> None:
    assert isinstance(await started("generator", "WholeModel"), WholeModel)


async def test_every_other_role() -> None:
    judge_model = await started("judge", "judge")
    assert (await judge_model.judge([RED], [CHECKS]))[0].value == [False, True]
    assert (await (await started("classifier", "classify")).classify([RED, RED]))[1].value == [
        ("a", 0.9),
        ("b", 0.1),
    ]
    assert (await (await started("captioner", "caption")).caption([RED]))[0].value == [
        "A picture.",
        "It shows",
        "8 pixels.",
        "No. 5 of Dr. Who.",
    ]
    talk = Conversation((RED, RED), "What?", (("Q", "A"),))
    assert (await (await started("answerer", "answer")).answer([talk]))[0].value == "2 What?"
    assert (await (await started("answerer", "answer_with_history")).answer([talk]))[
        0
    ].value == "What? after 1"
    verified = await (await started("verifier", "verify")).verify([AnswerToVerify((RED,), "2+2?", "4")])
    assert verified[0].value == Verification(True, True)
    assert [reply.value for reply in await (await started("embedder", "embed")).embed(["a", "b"])] == [
        [0, 1],
        [2, 3],
    ]
    questioner = await started("questioner", "propose")
    assert (await questioner.propose([(RED,)], ["colour"], [2]))[0].value == ["colour 0?", "colour 1?"]
    assert (await (await started("llm", "chat")).chat([{"role": "user", "content": "hi"}])).value == "HI"


@pytest.mark.parametrize(
    ("role", "arguments", "part"),
    [
        ("generator", (["a"], [1]), "f(prompt: str, seeds: list[int])"),
        ("judge", ([RED], [CHECKS]), "f(image: PIL image, checks: list[Check])"),
        ("classifier", ([RED],), "(label, score)"),
        ("captioner", ([RED],), "f(image: PIL image) -> str"),
        ("answerer", ([Conversation((RED,), "q")],), "question: str"),
        ("verifier", ([AnswerToVerify((RED,), "q", "a")],), "(valid, right)"),
        ("embedder", (["a"],), "one row per item"),
        ("questioner", ([(RED,)], [""], [1]), "a list of questions"),
    ],
)
async def test_wrong_results_name_the_signature(role: str, arguments: Any, part: str) -> None:
    model = await started(role, "wrong")
    with pytest.raises(BadReply) as caught:
        await getattr(model, METHODS[role])(*arguments)
    assert part in str(caught.value)
    assert f"{HERE}:wrong" in str(caught.value)
    await model.close()


async def test_an_exception_stops_a_run_unless_the_code_has_worked_before() -> None:
    model = await started("generator", "crash")
    with pytest.raises(Permanent, match="out of paint"):
        await model.generate(["crash"], [1])
    await model.generate(["fine"], [1])
    for _ in range(4):
        with pytest.raises(BadReply, match="out of paint"):
            await model.generate(["crash"], [1])
    with pytest.raises(Permanent):
        await model.generate(["crash"], [1])
    await model.close()


async def test_sync_code_does_not_block_the_loop() -> None:
    """It waits for something that only the loop does."""
    model, go_on = await started("generator", "draw"), threading.Event()
    model._function = lambda prompt, seeds: draw(prompt, seeds) if go_on.wait(120) else []
    call = asyncio.create_task(model.generate(["a"], [1]))
    await asyncio.sleep(0)
    go_on.set()
    assert (await call)[0].value is not None
    await model.close()


def make(path: str, role: str = "generator") -> Any:
    return create_model(role, config_of(path))


def config_of(path: str) -> ModelConfig:
    return ModelConfig(provider="python", path=path)


@pytest.mark.parametrize(
    ("path", "part"),
    [
        ("", "must name a callable"),
        ("nocolon", "must name a callable"),
        ("no_such_module_x:f", "no module"),
        ("no/such/file.py:f", "no file"),
        (f"{HERE}:drow", "did you mean 'draw'"),
        (f"{HERE}:THING", "not callable"),
        (f"{HERE}:caption", "does not take the 2 arguments"),
    ],
)
def test_paths_that_lead_nowhere(path: str, part: str) -> None:
    with pytest.raises(ConfigError) as caught:
        make(path)
    assert part in str(caught.value)


def test_a_file_has_one_identity_however_it_is_typed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for folder in ("one", "other"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "mine.py").write_text("def draw(prompt, seeds): return []\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    spellings = [
        "one/mine.py",
        "./one/mine.py",
        "other/../one/mine.py",
        f"{tmp_path}/one/mine.py",
        "~/one/mine.py",
    ]
    assert {make(f"{spelling}:draw").identity.digest for spelling in spellings} == {
        make("one/mine.py:draw").identity.digest
    }
    assert make("one/mine.py:draw").identity.model == "one/mine.py:draw"
    assert make("other/mine.py:draw").identity.digest != make("one/mine.py:draw").identity.digest


async def test_files_are_loaded_and_edits_change_the_identity(tmp_path: Path) -> None:
    (tmp_path / "neighbour.py").write_text("SIDE = 5\n")
    file = tmp_path / "mine.py"
    file.write_text(
        "from PIL import Image\nfrom neighbour import SIDE\n"
        "def draw(prompt, seeds):\n    return [Image.new('RGB', (SIDE, SIDE)) for _ in seeds]\n"
    )
    model = make(f"{file}:draw")
    await model.start()
    (reply,) = await model.generate(["a"], [1])
    assert reply.value.image.size == (5, 5)
    await model.close()
    before = model.identity.digest
    assert make(f"{file}:draw").identity.digest == before
    file.write_text(
        '"""Mine."""\nfrom PIL import Image\nfrom neighbour import SIDE\n\n\n'
        "def draw(prompt, seeds):  # edited\n"
        '    """Draws."""\n    return [\n        Image.new("RGB", (SIDE, SIDE)) for _ in seeds\n    ]\n'
    )
    assert make(f"{file}:draw").identity.digest == before
    file.write_text(file.read_text().replace("(SIDE, SIDE)", "(SIDE, 4)"))
    assert make(f"{file}:draw").identity.digest != before


async def test_leaving_python_inside_a_model_is_an_error_with_a_message(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import sys\ndef draw(prompt, seeds):\n    sys.exit('no licence')\n")
    model = make(f"{file}:draw")
    await model.start()
    with pytest.raises(Permanent, match="raised SystemExit: no licence"):
        await model.generate(["a"], [1])
    await model.close()


def test_a_file_with_a_mistake_is_named(tmp_path: Path) -> None:
    file = tmp_path / "broken.py"
    file.write_text("1/0\n")
    with pytest.raises(ConfigError, match="ZeroDivisionError"):
        make(f"{file}:draw")


async def test_large_pictures_are_decoded_and_drawn_ones_encoded_in_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pixels = np.random.default_rng(0).integers(0, 255, (300, 300, 3), dtype=np.uint8)
    large, threads = Picture.from_array(pixels), []
    shown, made = python_roles._shown, python_roles.to_picture

    def noting(work: Any) -> Any:
        def noted(*arguments: Any) -> Any:
            threads.append(threading.current_thread())
            return work(*arguments)

        return noted

    monkeypatch.setattr(python_roles, "_shown", noting(shown))
    monkeypatch.setattr(python_roles, "to_picture", noting(made))
    (tmp_path / "mine.py").write_text(
        "from PIL import Image\n"
        "def judge(image, checks): return [True] * len(checks)\n"
        "def draw(prompt, seeds): return [Image.new('RGB', (8, 8)) for _ in seeds]\n"
    )
    for role, name, arguments in (
        ("judge", "judge", ([large], [[Check("entity", "cat", "It is a cat.")]])),
        ("generator", "draw", (["a cat"], [1])),
    ):
        model: Any = create_model(role, ModelConfig(provider="python", path=f"{tmp_path / 'mine.py'}:{name}"))
        await model.start()
        (reply,) = await model.run(*arguments)
        assert reply.value
        await model.close()
    assert len(threads) == 2
    assert threading.main_thread() not in threads
