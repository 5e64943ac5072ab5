"""toy-questioner: a folder that transformers loads, and questions that the grammar understands."""

import json

import numpy as np
import pytest
from tools.toybox_training.asking import check_answer

from failscape.toybox import questioner, world
from failscape.toybox.asking import ToyGrammar


def test_the_folder_is_complete_small_and_knows_our_words() -> None:
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "model.safetensors", "README.md"):
        assert (questioner.FOLDER / name).exists()
    assert (questioner.FOLDER / "model.safetensors").stat().st_size <= 8_000_000
    vocabulary = json.loads((questioner.FOLDER / "tokenizer.json").read_text())["model"]["vocab"]
    skills = {questioner.skill_word(skill) for skill in ToyGrammar.skills}
    assert skills | {"<any>", *questioner.SPECIAL} <= set(vocabulary) <= set(questioner.words())
    settings = json.loads((questioner.FOLDER / "tokenizer_config.json").read_text())
    assert settings["padding_side"] == "left"


def test_prompts_use_known_words_only() -> None:
    rng = np.random.default_rng(0)
    for skill in (None, *ToyGrammar.skills):
        prompt = questioner.prompt_of(world.caption(world.sample_layout(rng), rng), skill)
        assert set(prompt.replace(",", " ,").split()) <= set(questioner.words())
    with pytest.raises(ValueError, match="existence"):
        questioner.prompt_of("a cow", "juggling")


def test_the_card_passes_the_bar() -> None:
    card = json.loads((questioner.FOLDER / "questioner.json").read_text(encoding="utf-8"))
    assert card["valid_share"] >= 0.75
    assert set(card["skills"]) >= set(ToyGrammar.skills)


@pytest.mark.extra("torch", "transformers")
def test_fresh_questions_are_valid() -> None:
    rng = np.random.default_rng(31)
    scenes = [world.sample_layout(rng) for _ in range(50)]
    model = questioner.ToyQuestioner()
    captions = [world.caption(scene) for scene in scenes]
    asked = model.propose(captions, 4, seed=3)
    valid = [
        check_answer(scene, text, "").valid for scene, row in zip(scenes, asked, strict=True) for text in row
    ]
    assert np.mean(valid) >= 0.75 - 3 * (0.75 * 0.25 / len(valid)) ** 0.5
    assert asked == model.propose(captions, 4, seed=3)
    assert model.propose([]) == []
