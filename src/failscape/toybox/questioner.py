"""toy-questioner at work: reads the caption of a picture and writes questions about it.

A tiny Hugging Face causal language model (folder `models/questioner`). It needs torch and transformers, which
are imported only when a questioner is made; the prompt's wording and the words it knows need neither.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Final

from failscape.toybox import questions, world
from failscape.toybox.networks import MODELS

FOLDER: Final = MODELS / "questioner"
#: Longest question, in tokens, end mark included.
LONGEST: Final = 16
PAD, BEGIN, END, UNKNOWN = "<pad>", "<bos>", "<eos>", "<unk>"
SPECIAL: Final = (PAD, BEGIN, END, UNKNOWN)
_MARKS: Final = (",", ".", ":", "|", "?")


def skill_word(skill: str) -> str:
    """Return the one word that asks for a skill in a prompt."""
    if skill not in questions.SKILLS:
        raise ValueError(f"a skill must be one of {list(questions.SKILLS)}, but got {skill!r}")
    return f"<{skill.replace(' ', '-')}>"


def prompt_of(caption: str, skill: str | None = None) -> str:
    """Word the prompt: the caption, then what is wanted. Without a skill the model chooses one itself."""
    return f"{caption} | {skill_word(skill) if skill else '<any>'} :"


@cache
def words() -> tuple[str, ...]:
    """Return every token of the model, special ones first."""
    skills = ["<any>", *(skill_word(skill) for skill in questions.SKILLS)]
    plain = sorted({*world.vocabulary(), *questions.vocabulary()} - set(_MARKS))
    return (*SPECIAL, *skills, *_MARKS, *plain)


class ToyQuestioner:
    """The language model with its tokenizer. Not safe to use from several threads at once."""

    def __init__(self, folder: Path = FOLDER) -> None:
        from transformers import AutoModelForCausalLM, AutoTokenizer

        self.tokenizer: Any = AutoTokenizer.from_pretrained(folder)
        self.model: Any = AutoModelForCausalLM.from_pretrained(folder).eval()

    def propose(
        self,
        captions: Sequence[str],
        n: int = 1,
        *,
        seed: int = 0,
        temperature: float = 1.0,
        skill: str | None = None,
    ) -> list[list[str]]:
        """Return n sampled questions for each caption."""
        import torch

        if not captions:
            return []
        prompts = [prompt_of(caption, skill) for caption in captions]
        tokens = self.tokenizer(prompts, return_tensors="pt", padding=True)
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed)
            out = self.model.generate(
                input_ids=tokens["input_ids"],
                attention_mask=tokens["attention_mask"],
                do_sample=True,
                temperature=temperature,
                top_k=0,
                num_return_sequences=n,
                max_new_tokens=LONGEST,
            )
        texts = self.tokenizer.batch_decode(out[:, tokens["input_ids"].shape[1] :], skip_special_tokens=True)
        tidy = [text.replace(" ?", "?").strip() for text in texts]
        return [tidy[i : i + n] for i in range(0, len(tidy), n)]
