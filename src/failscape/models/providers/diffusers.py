"""Provider `diffusers`: pipelines of the Diffusers library, run in this process, to generate and to edit.

`model` is a name on the hub, `path` a folder with `model_index.json`. Needs the extra `diffusers`.
"""

import inspect
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import Any, TypeVar

from PIL import Image, ImageDraw

from failscape.config import ModelConfig
from failscape.errors import ConfigError, Permanent, suggest
from failscape.models.in_process import (
    TorchModel,
    charge,
    device_of,
    dtype_named,
    file_digest,
    one_line,
    require_packages,
    unusable,
)
from failscape.models.roles import Model, Reply, Usage
from failscape.pictures import Picture

Item = TypeVar("Item")
T = TypeVar("T")

#: Params that are ours; all others go to the pipeline's call.
LOADING = ("device", "dtype", "variant", "revision", "loras", "cpu_offload", "mask")

NOT_FOR_USERS = frozenset(
    ("prompt", "image", "mask_image", "generator", "num_images_per_prompt", "output_type", "return_dict")
)
INDEX = "model_index.json"


#: A picture, or the reason why the pipeline gives none.
Drawn = Image.Image | str


class BatchLimit:
    """How many items go in one call. It is halved when memory runs out, and never raised again."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.halved = 0

    def run(self, call: Callable[[Sequence[Item]], Sequence[T]], items: Sequence[Item]) -> list[T]:
        done: list[T] = []
        while len(done) < len(items):
            some = items[len(done) : len(done) + self.most]
            try:
                done += call(some)
            except Exception as error:
                if len(some) == 1 or not out_of_memory(error):
                    raise
                self.most, self.halved = max(1, len(some) // 2), self.halved + 1
                torch = sys.modules.get("torch")  # where memory runs out without it, there is nothing to free
                if torch is not None and torch.cuda.is_available():
                    torch.cuda.empty_cache()

        return done


def out_of_memory(error: BaseException) -> bool:
    return type(error).__name__ == "OutOfMemoryError" or "out of memory" in str(error).lower()


class DiffusersPipeline:
    """`source` is a folder or a name on the hub; `params` are ours (`LOADING`) and the call's together."""

    def __init__(self, source: str, params: Mapping[str, Any], task: str = "text-to-image") -> None:
        self.source = source
        self.task = task
        self.call = {name: value for name, value in params.items() if name not in LOADING}
        refused = sorted(NOT_FOR_USERS & set(self.call))
        if refused:
            raise ConfigError(f"diffusers takes no param {', '.join(refused)}", "the run sets it by itself")
        self._params = dict(params)
        self.loras = [_lora(entry) for entry in params.get("loras") or ()]
        self._pipeline: Any = None
        #: What the pipeline's call takes, once it is loaded.
        self.accepts: frozenset[str] = frozenset()

    def load(self) -> None:
        import diffusers
        import transformers

        for library in (diffusers, transformers):
            library.utils.logging.disable_progress_bar()  # the run has its own
        try:
            wanted = self._dtype(diffusers)
            about = {key: self._params[key] for key in ("variant", "revision") if key in self._params}
            pipeline = self._class(diffusers).from_pretrained(self.source, torch_dtype=wanted, **about)
            for lora in self.loras:
                lora.put_into(pipeline)
            if self.loras:
                names, weights = zip(*((lora.name, lora.weight) for lora in self.loras), strict=True)
                pipeline.set_adapters(list(names), list(weights))
            if self._params.get("cpu_offload"):
                pipeline.enable_model_cpu_offload(device=device_of(self._params))
            else:
                pipeline.to(device_of(self._params))

        except ConfigError:
            raise
        except Exception as error:
            raise unusable(self.source, INDEX, error) from error
        pipeline.set_progress_bar_config(disable=True)
        self._pipeline = pipeline
        taken = frozenset(inspect.signature(pipeline.__call__).parameters)
        if self.task == "text-to-image" and "prompt" not in taken:
            raise ConfigError(
                f"{self.source} ({type(pipeline).__name__}) takes no prompt", "name a text-to-image pipeline"
            )
        self.accepts = taken - NOT_FOR_USERS
        self.check(self.call)

    def _dtype(self, diffusers: Any) -> Any:
        """FLUX overflows in float16; on a CPU half precision is slower than whole."""
        if "dtype" in self._params:
            return dtype_named(str(self._params["dtype"]))
        kind = str(diffusers.DiffusionPipeline.load_config(self.source).get("_class_name", ""))
        if kind.startswith("Flux"):
            return dtype_named("bfloat16")
        return dtype_named("float16" if device_of(self._params).startswith("cuda") else "float32")

    def _class(self, diffusers: Any) -> Any:
        """The pipeline's own class, unless another one of its family is needed to start from a picture."""
        if self.task == "text-to-image":
            return diffusers.DiffusionPipeline
        if self.task == "inpainting":
            return diffusers.AutoPipelineForInpainting
        own = diffusers.DiffusionPipeline.load_config(self.source).get("_class_name", "")
        known = inspect.signature(getattr(diffusers, own, diffusers.DiffusionPipeline).__call__).parameters
        edits = "image" in known and "mask_image" not in known
        return diffusers.DiffusionPipeline if edits else diffusers.AutoPipelineForImage2Image

    def check(self, settings: Mapping[str, Any]) -> None:
        for name in settings:
            if name not in self.accepts:
                raise ConfigError(
                    f"{self.source} ({type(self._pipeline).__name__}) takes no param {name!r}",
                    suggest(name, sorted(self.accepts)),
                )

    def draw(
        self, prompts: Sequence[str], seeds: Sequence[int], settings: Mapping[str, Any], **shown: Any
    ) -> list[Drawn]:
        """One call of the pipeline. `shown` are pictures to start from, one per prompt."""
        import torch

        noise = [torch.Generator("cpu").manual_seed(seed) for seed in seeds]
        fields = {  # second and negative prompts are wanted one per picture, as the prompts are
            name: [value] * len(prompts) if isinstance(value, str) and "prompt" in name else value
            for name, value in {**self.call, **settings}.items()
        }

        with torch.no_grad():
            out = self._pipeline(prompt=list(prompts), generator=noise, output_type="pil", **shown, **fields)
        unsafe = getattr(out, "nsfw_content_detected", None) or [False] * len(out.images)
        return [
            "the pipeline's safety checker blacked the picture out" if hidden else image
            for image, hidden in zip(out.images, unsafe, strict=True)
        ]


@dataclass(frozen=True, slots=True)
class Lora:
    path: str
    weight: float
    name: str

    def put_into(self, pipeline: Any) -> None:
        """A file, a folder, or a name on the hub."""
        file = Path(self.path)
        where = {"weight_name": file.name} if file.is_file() else {}
        source = str(file.parent) if file.is_file() else self.path
        pipeline.load_lora_weights(source, adapter_name=self.name, **where)


def _lora(entry: Any) -> Lora:
    known = {"path": entry} if isinstance(entry, str) else entry
    if not isinstance(known, Mapping) or not isinstance(known.get("path"), str):
        raise ConfigError(
            f"`params.loras` takes paths or {{path: …, weight: 0.8}}, but got {entry!r}", "write them so"
        )
    path = str(Path(known["path"]).expanduser())
    if path.endswith(".safetensors") and not Path(path).is_file():
        raise ConfigError(f"there is no file {path} (`params.loras`)", "check the path")
    return Lora(path, float(known.get("weight", 1.0)), Path(path).stem.replace(".", "_"))


#: Small enough for an SDXL at 1024 pixels on 24 GB; memory that runs out halves it.
BATCH = 4


class DiffusersModel(TorchModel):
    """The batch is part of the identity: the last bits of a picture depend on how many were drawn with it."""

    provider = "diffusers"
    index = INDEX
    files = (INDEX, "*/config.json", "*/*.safetensors", "*/*.bin", "*/scheduler_config.json")
    task = "text-to-image"

    def __init__(self, config: ModelConfig) -> None:
        super().__init__(config, BATCH)
        self.pipeline = DiffusersPipeline(self.source, config.params, self.task)
        self.identity.settings["batch"] = self.batch
        files = [Path(lora.path) for lora in self.pipeline.loras if Path(lora.path).is_file()]
        if files:
            self.identity.settings["loras"] = {str(file): file_digest(file) for file in files}
        self._limit = BatchLimit(self.batch)

    def load(self) -> None:
        self.pipeline.load()

    def _draw_all(
        self, draw: Callable[[Sequence[Any]], list[Drawn]], rows: Sequence[Any]
    ) -> list[Reply[Picture]]:
        began = time.monotonic()
        try:
            drawn = self._limit.run(draw, rows)
        except Exception as error:
            small = "not even one picture fits: set `dtype: float16`, a smaller size, or `cpu_offload: true`"
            told = f"{self.source} failed: {type(error).__name__}: {one_line(error)}"
            raise Permanent(told, small if out_of_memory(error) else "check `params`") from error
        usage = Usage(1, (time.monotonic() - began) / max(len(rows), 1))
        return [
            Reply(None, one, usage=usage)
            if isinstance(one, str)
            else Reply(Picture.from_image(one), usage=usage)
            for one in drawn
        ]


class DiffusersGenerator(DiffusersModel):
    role = "generator"

    async def generate(self, prompts: Sequence[str], seeds: Sequence[int]) -> list[Reply[Picture]]:
        rows = list(zip(prompts, seeds, strict=True))
        return await self.run(self._draw_all, self._draw, rows) if rows else []

    def _draw(self, rows: Sequence[tuple[str, int]]) -> list[Drawn]:
        prompts, seeds = zip(*rows, strict=True)
        return self.pipeline.draw(prompts, seeds, {})


class DiffusersEditor(DiffusersModel):
    """Starts from the picture: a pipeline made for edits, else image-to-image of the same family.

    With `params.mask`, inpainting: only what is white in that picture, or inside that box, is drawn anew.
    """

    role = "editor"

    def __init__(self, config: ModelConfig) -> None:
        self._mask = config.params.get("mask")
        self.task = "image-to-image" if self._mask is None else "inpainting"
        _check_mask(self._mask)
        super().__init__(config)
        if isinstance(self._mask, str):
            self.identity.settings["mask"] = file_digest(Path(self._mask).expanduser())

    async def edit(
        self, images: Sequence[Picture], instructions: Sequence[str], seeds: Sequence[int]
    ) -> list[Reply[Picture]]:
        """Pictures of one size go together."""
        shown = [picture.image.convert("RGB") for picture in images]
        order = sorted(range(len(shown)), key=lambda number: shown[number].size)
        found: dict[int, Reply[Picture]] = {}
        for _, group in groupby(order, key=lambda number: shown[number].size):
            numbers = list(group)
            rows = [(shown[number], instructions[number], seeds[number]) for number in numbers]
            found.update(zip(numbers, await self.run(self._draw_all, self._edit, rows), strict=True))
        return [found[number] for number in range(len(shown))]

    def _edit(self, rows: Sequence[tuple[Image.Image, str, int]]) -> list[Drawn]:
        pictures, instructions, seeds = (list(column) for column in zip(*rows, strict=True))
        shown = {"image": pictures}
        if self._mask is not None:
            shown["mask_image"] = [self._masked(picture) for picture in pictures]
        return self.pipeline.draw(instructions, seeds, self._sizes(pictures[0]), **shown)

    def _sizes(self, picture: Image.Image) -> dict[str, int]:
        """A pipeline that has a size of its own would stretch the picture to it."""
        wanted = {"height": picture.height, "width": picture.width}
        free = self.pipeline.accepts - set(self.pipeline.call)
        return {name: size for name, size in wanted.items() if name in free}

    def _masked(self, picture: Image.Image) -> Image.Image:
        if isinstance(self._mask, str):
            return Image.open(Path(self._mask).expanduser()).convert("L").resize(picture.size)
        assert self._mask is not None
        left, top, right, bottom = self._mask
        mask = Image.new("L", picture.size, 0)
        width, height = picture.size
        box = (left * width, top * height, right * width - 1, bottom * height - 1)
        ImageDraw.Draw(mask).rectangle(box, fill=255)
        return mask


def _check_mask(mask: Any) -> None:
    if mask is None or (isinstance(mask, str) and Path(mask).expanduser().is_file()):
        return
    numbers = isinstance(mask, list | tuple) and len(mask) == 4
    if not numbers or not all(isinstance(edge, int | float) and 0 <= edge <= 1 for edge in mask):
        raise ConfigError(
            f"`params.mask` must be a picture, or [left, top, right, bottom] from 0 to 1, but got {mask!r}",
            "name a file that exists; white is drawn anew",
        )


def create(role: str, config: ModelConfig) -> Model:
    """The factory that the registry calls."""
    require_packages("diffusers", "torch", "diffusers", "transformers")
    kind = DiffusersGenerator if role == "generator" else DiffusersEditor
    model: Model = charge(kind(config), role, config.price)
    return model
