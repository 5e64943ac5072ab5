"""Every built-in provider passes the suites that plugin authors use."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest

from failscape.config import ModelConfig
from failscape.models.registry import OUR_PROVIDERS, create_model
from failscape.models.roles import Model
from failscape.testing.faulty import FaultyServer
from failscape.testing.model_suite import SUITES, ModelSuite, plain_pictures
from tests.unit.models.test_onnx_provider import build

USER_CODE = "tests.unit.models.test_python_provider"
PYTHON_NAMES = {
    "generator": "draw", "judge": "judge", "classifier": "classify", "captioner": "caption",
    "answerer": "answer_with_history", "verifier": "verify", "questioner": "propose",
    "embedder": "embed_texts",
}  # fmt: skip


class OverHttp:
    role: ClassVar[str]
    settings: ClassVar[dict[str, Any]]
    url: ClassVar[str]

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def server(cls) -> Iterator[None]:
        with FaultyServer() as server:
            cls.url = server.url
            yield

    def make_model(self) -> Model:
        return create_model(self.role, ModelConfig(model="m", endpoints=(self.url,), **self.settings))


class InPython:
    role: ClassVar[str]

    def make_model(self) -> Model:
        path = f"{USER_CODE}:{PYTHON_NAMES[self.role]}"
        return create_model(self.role, ModelConfig(provider="python", path=path))


class InOnnx:
    role: ClassVar[str]
    path: ClassVar[str]
    items = tuple(plain_pictures("red", "lime", "blue"))

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def file(cls, tmp_path_factory: pytest.TempPathFactory) -> None:
        folder: Path = tmp_path_factory.mktemp("onnx")
        cls.path = build(folder / "colours.onnx", labels=["red", "green", "blue"])

    def make_model(self) -> Model:
        return create_model(self.role, ModelConfig(provider="onnx", path=self.path, params={"threads": 1}))


def define(name: str, way: type, role: str, **members: Any) -> None:
    globals()[name] = type(name, (way, SUITES[role]), {"role": role, "__module__": __name__, **members})


for _role in SUITES:
    if _role in OUR_PROVIDERS["openai"].roles:
        define(f"TestOpenAI{_role.title()}", OverHttp, _role, settings={"provider": "openai"})
    if _role in OUR_PROVIDERS["onnx"].roles:
        define(f"TestOnnx{_role.title()}", InOnnx, _role)
    define(f"TestPython{_role.title()}", InPython, _role)
define("TestGenerate", OverHttp, "generator", settings={"provider": "generate"})
define("TestGenerateInBatches", OverHttp, "generator", settings={"provider": "generate", "batch": 2})
define("TestHttpClassifier", OverHttp, "classifier", settings={"provider": "http"})
define("TestOpenAIChoiceJudge", OverHttp, "judge", settings={"provider": "openai", "contract": "choice"})


def test_the_suites_notice_a_model_that_breaks_its_promises() -> None:
    class Forgetful(SUITES["generator"]):  # type: ignore[misc]
        def make_model(self) -> Model:
            return create_model("generator", ModelConfig(provider="python", path=f"{USER_CODE}:draw_bytes"))

    with pytest.raises(AssertionError):
        Forgetful().test_same_seed_same_picture_and_other_seed_other_picture()
    assert issubclass(Forgetful, ModelSuite)
