"""TRL at work: an SFT warm-up on valid questions, and GRPO whose rewards come from the hunt. In one thread.

The dataset is made as the hunt asks: row i is lesson i, and reading it waits for the hunt. The reward
function hands the questions in and waits until they have been answered and recorded. Any causal LM reads
captions; a VLM reads the pictures. Needs the extra `rl`.
"""

from __future__ import annotations

import inspect
import json
import shutil
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import pstdev
from typing import Any

from failscape.errors import ConfigError
from failscape.models.training.classroom import Classroom, Task, ValidQuestion
from failscape.models.training.imitation import BATCH, imitate
from failscape.trials import seed_from_text

LEAST_SPREAD = 0.25
"""The spread of a step's rewards with one failure in sixteen questions. A step without a failure has a tenth
of it: divided by that, the gap between a valid and an invalid question would weigh as much as a failure."""

WARM_NAMED = 0.5
"""Share of the warm-up that is learned with a named skill at least: names are how rare kinds come up."""

REPLAY_EVERY = 2
"""Updates by reward between two replays."""

CHECKPOINTS = "checkpoints"
WHOLE = "failscape.whole"
"""A file in each checkpoint that was written to its end: the trainer writes them file by file."""


def warm_up(study: Study, rows: Sequence[ValidQuestion]) -> Any:
    """Supervised fine-tuning on questions that were valid, before any reward."""
    model = _adapted(study).train()
    named = max(WARM_NAMED, float(study.params.get("named", 0.0)))
    batches = -(-len(rows) * int(study.params.get("warmup_epochs", 4)) // BATCH)
    imitate(study, model, rows, batches, named)
    return _merged(model).eval()


def reinforce(study: Study, warm: Sequence[ValidQuestion]) -> Any:
    """GRPO over all lessons, with replays between its updates; returns the trained model."""
    from transformers.trainer_callback import PrinterCallback
    from trl import GRPOTrainer

    folder = study.home / CHECKPOINTS
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = GRPOTrainer(
            model=study.weights,
            reward_funcs=[_reward(study)],
            args=_settings(study),
            train_dataset=_dataset(study),
            processing_class=study.processor,
            peft_config=_lora(study),
            callbacks=[_logger(study), _replay(study, warm)],
        )
        trainer.remove_callback(PrinterCallback)
        trainer.train(resume_from_checkpoint=last_whole(folder))
    return _merged(trainer.accelerator.unwrap_model(trainer.model))


def last_whole(folder: Path) -> str | None:
    """The last checkpoint that is complete. A kill may have left one that is not: it is removed."""
    whole = {}
    for checkpoint in folder.glob("checkpoint-*"):
        if (checkpoint / WHOLE).exists():
            whole[int(checkpoint.name.rpartition("-")[2])] = checkpoint
        else:
            shutil.rmtree(checkpoint)
    return str(whole[max(whole)]) if whole else None


def _settings(study: Study) -> Any:
    import torch
    from trl import GRPOConfig

    params = study.params
    cpu = not torch.cuda.is_available()
    wanted: dict[str, Any] = {
        "output_dir": str(study.home / CHECKPOINTS),
        "use_cpu": cpu,
        "bf16": not cpu,
        "per_device_train_batch_size": int(params["group"]) * int(params["pictures"]),
        "num_generations": int(params["group"]),
        "max_completion_length": int(params["longest"]),
        "max_steps": int(params["steps"]),
        "learning_rate": float(params["rate"]),
        "lr_scheduler_type": "constant",
        "beta": float(params["kl"]),
        "temperature": float(params["temperature"]),
        # `_scaled` does it. By group, a gap of .05 between two passes would weigh as much as a failure.
        "scale_rewards": "none",
        "loss_type": "dapo",
        "num_iterations": 1,
        "shuffle_dataset": False,
        "gradient_checkpointing": not cpu,
        "save_steps": int(params["save_steps"]),
        "save_total_limit": 2,
        "logging_steps": 1,
        "report_to": "none",
        "disable_tqdm": True,
        "seed": int(params.get("seed", 0)),
        **dict(params.get("options") or {}),
    }
    known = set(inspect.signature(GRPOConfig.__init__).parameters)
    return GRPOConfig(**{name: value for name, value in wanted.items() if name in known})


def _dataset(study: Study) -> Any:
    """Row i is made when the trainer comes to it, from what the hunt asks in lesson i."""
    import datasets

    datasets.logging.set_verbosity_error()  # it would tell that rows made on demand cannot be cached

    def rows(batch: dict[str, list[int]]) -> dict[str, list[Any]]:
        made = [{"lesson": number, **study.row(study.room.task(number))} for number in batch["lesson"]]
        return {name: [row[name] for row in made] for name in made[0]}

    lessons = int(study.params["steps"]) * int(study.params["pictures"])
    return datasets.Dataset.from_dict({"lesson": list(range(lessons))}).with_transform(rows)


def _reward(study: Study) -> Any:
    def reward(completions: list[Any], lesson: list[int], **_: Any) -> list[float | None]:
        texts = [question_in(_text_of(completion)) for completion in completions]
        by_lesson: dict[int, list[str]] = {}
        for number, text in zip(lesson, texts, strict=True):
            by_lesson.setdefault(number, []).append(text)
        for number, written in by_lesson.items():
            study.room.hand_in(number, written)
        rewards: list[float | None] = []
        for number, written in by_lesson.items():
            graded = study.room.graded(number)
            worth = _matched(written, graded.texts, graded.rewards)
            if None in worth:
                study.log({"phase": "lesson", "lesson": number, "unscored": worth.count(None)})
            rewards += worth
        return _scaled(rewards)

    return reward


def _scaled(rewards: Sequence[float | None]) -> list[float | None]:
    """Rewards of a step divided by their spread, but never by less than `LEAST_SPREAD`."""
    known = [worth for worth in rewards if worth is not None]
    scale = max(LEAST_SPREAD, pstdev(known)) if known else 1.0
    return [None if worth is None else worth / scale for worth in rewards]


def _matched(written: Sequence[str], texts: Sequence[str], rewards: Sequence[float]) -> list[float | None]:
    """The reward of every question as written; None for one that was never asked.

    After a resume the questions since the last checkpoint are written again. They are the same, unless
    libraries or hardware changed. An empty completion is worth what the worst question of its lesson is.
    """
    known: dict[str, list[float]] = {}
    for text, worth in zip(texts, rewards, strict=True):
        known.setdefault(text, []).append(worth)
    worst = min(rewards, default=0.0)
    found: list[float | None] = []
    for text in written:
        if not text:
            found.append(min(worst, 0.0))
        else:
            left = known.get(text)
            found.append((left.pop(0) if len(left) > 1 else left[0]) if left else None)
    return found


def _text_of(completion: Any) -> str:
    if isinstance(completion, str):
        return completion
    content = completion[-1]["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _lora(study: Study) -> Any:
    rank = int(study.params.get("lora") or 0)
    if not rank:
        return None
    from peft import LoraConfig

    return LoraConfig(r=rank, lora_alpha=2 * rank, target_modules="all-linear", task_type="CAUSAL_LM")


def _adapted(study: Study) -> Any:
    """The model with its LoRA weights, where these are wanted: only they learn."""
    lora = _lora(study)
    if lora is None:
        return study.model
    from peft import get_peft_model

    return get_peft_model(study.model, lora)


def _merged(model: Any) -> Any:
    return model.merge_and_unload() if hasattr(model, "merge_and_unload") else model


def _logger(study: Study) -> Any:
    from transformers import TrainerCallback

    class Log(TrainerCallback):  # type: ignore[misc,unused-ignore]
        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            plain = {
                name: float(value) for name, value in (logs or {}).items() if isinstance(value, int | float)
            }
            study.log({"phase": "grpo", "step": int(state.global_step), **plain})

        def on_save(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            (Path(args.output_dir) / f"checkpoint-{state.global_step}" / WHOLE).touch()

    return Log()


def _replay(study: Study, warm: Sequence[ValidQuestion]) -> Any:
    """Between updates, what the warm-up and all lessons so far found is learned once more."""
    from transformers import TrainerCallback

    batches = int(study.params.get("replay", 0))

    class Replay(TrainerCallback):  # type: ignore[misc,unused-ignore]
        def on_step_end(self, args: Any, state: Any, control: Any, model: Any = None, **_: Any) -> None:
            if not batches or state.global_step % REPLAY_EVERY:
                return
            lessons = range(state.global_step * int(study.params["pictures"]))
            graded = ((study.room.task(number), study.room.graded(number)) for number in lessons)
            rows = [*warm, *(row for task, one in graded for row in one.valid(task))]
            if rows:
                named = float(study.params.get("named", 0.0))
                imitate(study, model, rows, batches, named, state.global_step)

    return Replay()


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
        caption = task.caption
        if self._template:
            return self._template.format(caption=caption, skill=f"<{task.skill.replace(' ', '-') or 'any'}>")
        if not caption.strip():
            name = task.lesson.name if task.lesson else "a question"
            raise ConfigError(
                f"the questioner reads captions, but the picture of {name} has none",
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

        seed = seed_from_text(task.guidance)
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

    def train(self) -> None:
        """SFT on what the warm-up found, then GRPO; goes on from the last checkpoint."""
        if (self._home / DONE / "config.json").exists():
            return
        self._home.mkdir(parents=True, exist_ok=True)
        warm = self._room.warm_up()
        if warm and not (self._home / WARM / "config.json").exists():
            self.model = warm_up(self, warm)
            self.save(WARM)
            self._weights = str(self._home / WARM)
        self.model = reinforce(self, warm)
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
    if task.lesson is None:
        return f"{INSTRUCTION} Ask so that {task.guidance}."
    return f"{INSTRUCTION} It should take {task.skill} to answer it." if task.skill else INSTRUCTION


def question_in(text: str) -> str:
    """The question that a completion holds: up to its first question mark, else its first line."""
    plain = text.strip().replace(" ?", "?")
    line = next((line.strip() for line in plain.splitlines() if line.strip()), "")
    head, mark, _ = line.partition("?")
    return f"{head}?" if mark else line
