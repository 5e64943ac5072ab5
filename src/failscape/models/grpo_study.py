"""The torch side of a grpo questioner: loading, prompts, sampling, SFT warm-up, GRPO. Runs in one thread.

Any Hugging Face causal LM reads captions; a VLM reads the pictures. Needs the extra `rl`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from failscape.errors import ConfigError
from failscape.models.classroom import Classroom, Task

INSTRUCTION = (
    "Write one short question about the picture. It has one right answer that can be seen in the picture. "
    "Make it hard to answer. Reply with the question only."
)
WARM = "warm"
DONE = "trained"


class Study:
    """One model with its tokenizer or processor. `home` keeps its checkpoints."""

    def __init__(
        self,
        source: str,
        template: str,
        params: dict[str, Any],
        home: Path,
        room: Classroom,
        processor: Any = None,
    ) -> None:
        import transformers
        from transformers import AutoConfig

        transformers.utils.logging.disable_progress_bar()  # the run has its own
        self.log: Callable[[dict[str, Any]], None] = lambda row: None
        self._params = params
        self._home = home
        self._room = room
        self._template = template
        try:
            config = AutoConfig.from_pretrained(source)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"the questioner {source!r} cannot be loaded: {error}",
                "name a folder or hub name of a causal LM or VLM in `questioner.training.model`",
            ) from error
        self.sees = hasattr(config, "vision_config")
        self._weights = str(home / WARM) if (home / WARM / "config.json").exists() else source
        self.processor = _padded_left(processor or _load_processor(source, self.sees))
        self.model: Any = self._load(
            str(home / DONE) if (home / DONE / "config.json").exists() else self._weights
        )

    @property
    def tokenizer(self) -> Any:
        return getattr(self.processor, "tokenizer", self.processor)

    def _load(self, source: str) -> Any:
        import transformers

        kind = transformers.AutoModelForImageTextToText if self.sees else transformers.AutoModelForCausalLM
        return kind.from_pretrained(source)

    # Prompts

    def row(self, task: Task) -> dict[str, Any]:
        """One row of TRL's dataset."""
        if self.sees:
            text = instruction(task)
            content = [{"type": "image"} for _ in task.pictures] + [{"type": "text", "text": text}]
            pictures = [picture.image.convert("RGB") for picture in task.pictures]
            return {"prompt": [{"role": "user", "content": content}], "images": pictures}
        return {"prompt": self._text_prompt(task)}

    def _text_prompt(self, task: Task) -> Any:
        caption = task.caption if _is_lesson(task) else task.guidance
        if self._template:
            return self._template.format(caption=caption, skill=f"<{task.skill.replace(' ', '-') or 'any'}>")
        if not caption.strip():
            raise ConfigError(
                f"the questioner reads captions, but the picture of {task.name} has none",
                "give captions (`captions.csv`), or train a VLM, which sees the picture",
            )
        text = f"{instruction(task)}\n\nThe picture: {caption}"
        if getattr(self.tokenizer, "chat_template", None):
            return [{"role": "user", "content": text}]
        return f"{text}\n\nQuestion:"  # a tokenizer without chat template reads plain text

    # Sampling

    def write(self, task: Task) -> list[str]:
        """Questions for a task by the model as it is; the same task gives the same ones."""
        import torch

        seed = int.from_bytes(hashlib.blake2b(task.guidance.encode(), digest_size=4).digest(), "big")
        inputs = self.inputs(self.row(task))
        self.model.eval()
        with torch.random.fork_rng(devices=[]), torch.no_grad():
            torch.manual_seed(seed + int(self._params.get("seed", 0)))
            out = self.model.generate(
                **inputs,
                do_sample=True,
                temperature=float(self._params.get("temperature", 1.0)),
                top_k=0,
                num_return_sequences=task.count,
                max_new_tokens=int(self._params.get("longest", 32)),
                pad_token_id=self.tokenizer.pad_token_id,
            )
        texts = self.tokenizer.batch_decode(out[:, inputs["input_ids"].shape[1] :], skip_special_tokens=True)
        return [question_in(text) for text in texts]

    def inputs(self, row: dict[str, Any]) -> dict[str, Any]:
        prompt = row["prompt"]
        text = prompt
        if not isinstance(prompt, str):
            text = self.processor.apply_chat_template(prompt, tokenize=False, add_generation_prompt=True)
        if self.sees:
            return dict(self.processor(text=[text], images=[row["images"]], return_tensors="pt"))
        found = dict(self.tokenizer([text], return_tensors="pt"))
        found.pop("token_type_ids", None)
        return found

    # Training

    def train(self, warm: Sequence[tuple[Task, str, float]]) -> None:
        """SFT on what the warm-up found, then GRPO; goes on from the last checkpoint."""
        from failscape.models.grpo_trainer import reinforce, warm_up

        if (self._home / DONE / "config.json").exists():
            return
        self._home.mkdir(parents=True, exist_ok=True)
        if warm and not (self._home / WARM / "config.json").exists():
            self.model = warm_up(self, warm)
            self.save(WARM)
            self._weights = str(self._home / WARM)
        self.model = reinforce(self)
        self.save(DONE)

    def save(self, name: str) -> None:
        """Write a folder that transformers loads, all of it or nothing."""
        draft = self._home / f".{name}"
        shutil.rmtree(draft, ignore_errors=True)
        self.model.save_pretrained(draft)
        self.processor.save_pretrained(draft)
        (draft / "failscape.json").write_text(json.dumps(self._params, indent=1, default=str))
        shutil.rmtree(self._home / name, ignore_errors=True)
        draft.rename(self._home / name)

    @property
    def params(self) -> dict[str, Any]:
        return self._params

    @property
    def home(self) -> Path:
        return self._home

    @property
    def room(self) -> Classroom:
        return self._room

    @property
    def weights(self) -> str:
        """Where training starts from; with a KL term the reference is loaded from there once more."""
        return self._weights


def _load_processor(source: str, sees: bool) -> Any:
    from transformers import AutoProcessor, AutoTokenizer

    return AutoProcessor.from_pretrained(source) if sees else AutoTokenizer.from_pretrained(source)


def _padded_left(processor: Any) -> Any:
    tokenizer = getattr(processor, "tokenizer", processor)
    tokenizer.padding_side = "left"  # padding on the right misaligns image tokens and spoils generation
    if tokenizer.pad_token is None:
        tokenizer.pad_token = tokenizer.eos_token
    return processor


def instruction(task: Task) -> str:
    """What the questioner is told: in lessons the same but for the skill, else what the task says."""
    if not _is_lesson(task):
        return f"{INSTRUCTION} Ask so that {task.guidance}."
    return f"{INSTRUCTION} It should take {task.skill} to answer it." if task.skill else INSTRUCTION


def _is_lesson(task: Task) -> bool:
    return task.name.startswith(("lesson ", "warm-up "))


def question_in(text: str) -> str:
    """The question that a completion holds: up to its first question mark, else its first line."""
    plain = text.strip().replace(" ?", "?")
    line = next((line.strip() for line in plain.splitlines() if line.strip()), "")
    head, mark, _ = line.partition("?")
    return f"{head}?" if mark else line
