"""Roles of provider `transformers` with tiny untrained networks, which choose among replies that are in form.

Their vocabulary holds whole replies as single words, and all other words are suppressed: so a real network
decides by what it sees, and its contract reads what it says.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from failscape.atlas import Atlas
from failscape.config import ModelConfig
from failscape.config.files import parse_config
from failscape.errors import ConfigError, Permanent
from failscape.models.registry import create_model
from failscape.models.roles import AnswerToVerify, Model
from failscape.pictures import Picture
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.testing.model_suite import (
    CaptionerSuite,
    EmbedderSuite,
    JudgeSuite,
    ModelSuite,
    QuestionerSuite,
    VerifierSuite,
    plain_pictures,
)

pytestmark = pytest.mark.extra("torch", "transformers")
REPLIES = {
    "judge": tuple(
        f'{{"answers":[{one},{other}]}}' for one in ("true", "false") for other in ("true", "false", "null")
    ),
    "verifier": tuple(
        f'{{"valid":{valid},"right":{right},"reason":"seen"}}'
        for valid in ("true", "false")
        for right in ("true", "false")
    ),
    "questioner": ('{"questions":["Which_colour?","How_many?"]}', '{"questions":["What_is_it?"]}'),
    "captioner": ("A_red_thing.", "A_green_thing.", "A_blue_thing."),
    "llm": ("yes", "no", "perhaps"),
}
Make = Callable[[str], Path]


@pytest.fixture(scope="session")
def chatty(tmp_path_factory: pytest.TempPathFactory) -> Make:
    """A LLaVA whose words are the replies of one role."""
    root = tmp_path_factory.mktemp("chatty")

    def make(role: str) -> Path:
        from tests.integration.rl.tiny_llava import build

        if not (root / role).exists():
            build(root / role, more=REPLIES[role])
        return root / role

    return make


def settings(folder: Path, role: str, **more: Any) -> ModelConfig:
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    allowed = set(tokenizer.convert_tokens_to_ids(list(REPLIES[role])))
    others = [number for number in range(len(tokenizer)) if number not in allowed]
    params = {"max_new_tokens": 1, "suppress_tokens": others, "device": "cpu", "dtype": "float32"}
    return ModelConfig(provider="transformers", path=str(folder), params=params, batch=2, **more)


class OfChat(ModelSuite):
    @pytest.fixture(autouse=True)
    def a_folder(self, chatty: Make) -> None:
        self.config = settings(chatty(self.role), self.role)

    def make_model(self) -> Model:
        return create_model(self.role, self.config)


class TestJudge(OfChat, JudgeSuite):
    def test_what_it_decides_depends_on_the_picture(self) -> None:
        pictures = plain_pictures("red", "lime", "blue", "black", "white", "yellow", "purple", "orange")

        async def work(model: Any) -> list[Any]:
            return [reply.value for reply in await model.judge(pictures, [self.checks] * len(pictures))]

        assert len({str(value) for value in self.use(work)}) > 1

    def test_no_checks_need_no_model(self) -> None:
        (reply,) = self.use(lambda model: model.judge(plain_pictures("red"), [[]]))
        assert (reply.value, reply.usage.requests) == ([], 0)

    def test_a_reply_out_of_form_is_invalid(self) -> None:
        (reply,) = self.use(lambda model: model.judge(plain_pictures("red"), [self.checks[:1]]))
        assert reply.value is None
        assert "booleans" in reply.invalid
        assert reply.raw.startswith('{"answers"')


class TestVerifier(OfChat, VerifierSuite):
    def test_a_known_truth_is_not_asked_about_twice(self) -> None:
        async def work(model: Any) -> list[Any]:
            told = AnswerToVerify(self.images, "Which colour?", "Red.", (), "Red.")
            return list(await model.verify([replace(told, truth=""), told]))

        unknown, known = self.use(work)
        assert known.usage.requests == 1
        assert known.value.valid is True
        assert unknown.usage.requests == (2 if unknown.value.valid else 1)


class TestQuestioner(OfChat, QuestionerSuite):
    pass


class TestCaptioner(OfChat, CaptionerSuite):
    pass


class TestUnaskedCaptioner(CaptionerSuite):
    """A BLIP has no chat template: it describes what it is shown."""

    @pytest.fixture(autouse=True)
    def a_folder(self, tmp_path: Path) -> None:
        self.folder = tiny_blip(tmp_path)

    def make_model(self) -> Model:
        params = {"max_new_tokens": 6, "min_new_tokens": 3}
        return create_model(
            "captioner", ModelConfig(provider="transformers", path=str(self.folder), params=params)
        )


def tiny_blip(folder: Path) -> Path:
    import torch
    from transformers import (
        BertTokenizer,
        BlipConfig,
        BlipForConditionalGeneration,
        BlipImageProcessorPil,
        BlipProcessor,
    )

    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "red", "blue", "cat", "dog", "[DEC]", "[ENC]"]
    (folder / "vocab.txt").write_text("\n".join(words))
    tokenizer = BertTokenizer(str(folder / "vocab.txt"), additional_special_tokens=["[DEC]", "[ENC]"])
    size = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 1, "num_attention_heads": 4}
    config = BlipConfig(
        text_config={
            **size,
            "vocab_size": len(words),
            "encoder_hidden_size": 32,
            "bos_token_id": 10,
            "eos_token_id": 3,
            "sep_token_id": 3,
            "pad_token_id": 0,
        },
        vision_config={**size, "image_size": 32, "patch_size": 16},
        projection_dim=16,
    )
    torch.manual_seed(0)
    BlipForConditionalGeneration(config).save_pretrained(folder)
    images = BlipImageProcessorPil(size={"height": 32, "width": 32})
    BlipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


async def test_an_llm_reads_the_whole_dialogue(tmp_path: Path) -> None:
    model: Any = create_model("llm", settings(tiny_llama(tmp_path), "llm"))
    await model.start()
    asked = [{"role": "system", "content": "what is there ?"}, {"role": "user", "content": "how many things"}]
    reply = await model.chat(asked)
    parts = [asked[0], {"role": "user", "content": [{"type": "text", "text": "how many things"}]}]
    assert (await model.chat(parts)).raw == reply.raw
    assert reply.value in REPLIES["llm"]
    longer = await model.chat(asked[1:])
    assert reply.usage.tokens_in > longer.usage.tokens_in, "the system's message reaches the model"
    await model.close()


async def test_a_text_model_proposes_descriptions_for_a_classifier_hunt(tmp_path: Path) -> None:
    """Without pictures and without an image processor: the hunt asks it as `llm`."""
    llm = settings(tiny_llama(tmp_path / "llama"), "llm")
    config = parse_config(
        {
            "hunt": "classifier",
            "target": {"provider": "toybox", "model": "cnn"},
            "generator": {"provider": "toybox", "model": "renderer"},
            "llm": llm.model_dump(mode="json"),
            "classes": ["car", "apple"],
            "space": {"corpus": "toybox"},
            "search": {"baseline": 8, "round": 16},
            "budget": {"images": 40},
        },
        "test",
    )
    await run_session(config, tmp_path / "atlas", PlainReporter())
    with Atlas.open(tmp_path / "atlas", readonly=True) as atlas:
        asked = [trial for trial in atlas.replay(atlas.hunt().id) if "#l" in trial.key]
    assert asked
    assert all(trial.facts[0] in REPLIES["llm"] for trial in asked)


def tiny_llama(folder: Path) -> Path:
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    from tests.integration.rl.tiny_llava import livelier
    from tests.integration.rl.tiny_qwen import tokenizer

    words = tokenizer(REPLIES["llm"])
    words.chat_template = (
        "{% for m in messages %}<|im_start|> {{ m['role'] }} {{ m['content'] }} <|im_end|> {% endfor %}"
        "{% if add_generation_prompt %}<|im_start|> assistant {% endif %}"
    )
    size = {"hidden_size": 32, "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4}
    torch.manual_seed(0)
    model = LlamaForCausalLM(LlamaConfig(**size, vocab_size=len(words), num_key_value_heads=4))
    livelier(model)
    model.generation_config.eos_token_id = words.eos_token_id
    model.save_pretrained(folder)
    words.save_pretrained(folder)
    return folder


def tiny_two_towers(kind: str, folder: Path) -> Path:
    """CLIP or SigLIP with letters as tokens."""
    import torch
    import transformers
    from tools.tiny_pipelines import clip_tokenizer

    tokenizer = clip_tokenizer()
    size = {"hidden_size": 32, "intermediate_size": 37, "num_hidden_layers": 1, "num_attention_heads": 4}
    text = {**size, "vocab_size": len(tokenizer), "max_position_embeddings": 16}
    text |= {"bos_token_id": len(tokenizer) - 2, "eos_token_id": len(tokenizer) - 1}
    vision = {**size, "image_size": 32, "patch_size": 16}
    config = getattr(transformers, f"{kind}Config")(text_config=text, vision_config=vision)
    torch.manual_seed(0)
    getattr(transformers, f"{kind}Model")(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    side = {"height": 32, "width": 32}
    eye: dict[str, Any] = {"size": side, **({"crop_size": side} if kind == "CLIP" else {})}
    getattr(transformers, f"{kind}ImageProcessorPil")(**eye).save_pretrained(folder)
    return folder


class OfTowers(EmbedderSuite):
    kind = ""
    items: tuple[str | Picture, ...] = ("a red cat", *plain_pictures("red", "blue"))

    @pytest.fixture(autouse=True)
    def a_folder(self, tmp_path: Path) -> None:
        self.folder = tiny_two_towers(self.kind, tmp_path)

    def make_model(self) -> Model:
        return create_model("embedder", ModelConfig(provider="transformers", path=str(self.folder), batch=2))

    def test_texts_and_pictures_have_vectors_of_length_one(self) -> None:
        async def work(model: Any) -> list[list[float]]:
            return [reply.value for reply in await model.embed(list(self.items))]

        for vector in self.use(work):
            assert sum(number**2 for number in vector) == pytest.approx(1, abs=1e-4)


class TestClip(OfTowers):
    kind = "CLIP"


class TestSiglip(OfTowers):
    kind = "Siglip"


async def test_an_embedder_of_texts_refuses_pictures(tmp_path: Path) -> None:
    model: Any = create_model(
        "embedder", ModelConfig(provider="transformers", path=str(tiny_llama(tmp_path)))
    )
    await model.start()
    one, other = await model.embed(["how many things", "what colour"])
    assert len(one.value) == len(other.value) == 32
    with pytest.raises(Permanent, match="texts only"):
        await model.embed(plain_pictures("red"))
    await model.close()


async def test_a_model_that_is_not_here_says_how_to_fetch_it() -> None:
    for role in ("judge", "llm", "embedder", "classifier"):
        model = create_model(role, ModelConfig(provider="transformers", model="someone/some-vlm"))
        with pytest.raises(ConfigError) as told:
            await model.start()
        assert "hf download someone/some-vlm" in told.value.fix, role


def test_the_contract_is_part_of_the_identity(chatty: Make) -> None:
    config = settings(chatty("judge"), "judge")
    boolean, choice = (
        create_model("judge", config.model_copy(update={"contract": name})).identity
        for name in ("boolean", "choice")
    )
    assert boolean.digest != choice.digest
