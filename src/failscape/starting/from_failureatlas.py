"""FailureAtlas's four YAML files and its corpus folder, as one config of ours.

Names of keys differ between its versions, so each setting is looked for under several, anywhere in its file.
What is there and has no place here is told, never dropped in silence.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from failscape.errors import ConfigError
from failscape.starting.drafts import ConfigDraft, RoleDraft

FILES = ("default", "t2i_server", "vlm_client", "predictor")
CORPUS_FILE = "entity_en.json"

#: Settings that are options of commands here (`--atlas`, `--shard`), or are always so.
_HERE_OTHERWISE = frozenset(
    ("task_name", "output_dir", "out_dir", "output", "resume", "total_tasks", "task_id", "log_dir", "io")
)


@dataclass(slots=True)
class _File:
    """One YAML file and which of its keys were read."""

    data: Mapping[str, Any]
    read: set[str] = field(default_factory=set)

    def get(self, *names: str, default: Any = None) -> Any:
        """The value of the first of these keys, wherever in the file it stands."""
        for name in names:
            for key, value in _pairs(self.data):
                if key == name and value is not None:
                    self.read.add(name)
                    return value
        return default

    def numbers(self, **names: str) -> dict[str, int | float]:
        """Our setting → its number here, where there is one under any of the names given for it."""
        found = {ours: self.get(*theirs.split()) for ours, theirs in names.items()}
        return {ours: value for ours, value in found.items() if isinstance(value, int | float)}

    def left(self) -> list[str]:
        """Keys with a value that nobody asked for."""
        leaves = [key for key, value in _pairs(self.data) if not isinstance(value, Mapping | list)]
        return [key for key in dict.fromkeys(leaves) if key not in self.read and key not in _HERE_OTHERWISE]


def _pairs(data: Any) -> Iterator[tuple[str, Any]]:
    """Keys and values, the outer ones first."""
    if isinstance(data, Mapping):
        yield from ((str(key), value) for key, value in data.items())
        for value in data.values():
            yield from _pairs(value)


def read_failureatlas(folder: Path) -> tuple[ConfigDraft, list[str]]:
    """A draft with the same models, corpus and rule, and what could not be taken over, in words."""
    files = {name: _read(folder, name) for name in FILES}
    notes: list[str] = []
    corpus = _corpus(folder, files["default"])
    target = _target(files["t2i_server"], notes)
    judge = _judge(files["vlm_client"])
    search = _search(files["default"], files["predictor"], notes)
    sample = files["default"].get("use_sample_only", "sample_only", default=True)
    depth = files["default"].get("max_depth", "depth", default=None) or (
        files["default"].get("max_layer", "num_layers", default=3) - 1
    )
    left = {name: file.left() for name, file in files.items()}
    notes += [f"{name}.yaml: not taken over: {', '.join(keys)}" for name, keys in left.items() if keys]
    in_flight = files["vlm_client"].get("workers", "num_workers", "max_workers", default=64)
    draft = ConfigDraft(
        "t2i",
        {
            "target": (target, "from t2i_server.yaml"),
            "judge": (judge, "from vlm_client.yaml"),
        },
        {
            "space": (
                {"corpus": str(corpus), "entities": "sample" if sample else "all", "depth": int(depth)},
                "its corpus folder, as it is",
            ),
            "search": (search, "its rule; take `strategy` out for error control"),
            "runtime": ({"in_flight": max(1, min(4096, int(in_flight)))}, "from workers"),
            "seed": (int(files["default"].get("seed", default=0)), ""),
        },
        (
            "Taken over from FailureAtlas. Its rule takes a fixed number of images a node; without",
            "`strategy` the default one certifies what it claims, and needs fewer: add a `budget` then.",
        ),
    )
    return draft, notes


def _read(folder: Path, name: str) -> _File:
    for place in (folder / "configs" / f"{name}.yaml", folder / f"{name}.yaml"):
        if place.is_file():
            try:
                data = yaml.safe_load(place.read_text(encoding="utf-8"))
            except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
                raise ConfigError(f"{place}: cannot be read: {error}", "mend that file") from None
            if not isinstance(data, Mapping):
                raise ConfigError(f"{place}: must hold `key: value` lines", "mend that file")
            return _File(data)
    if name == "predictor":
        return _File({})
    raise ConfigError(
        f"{folder} has no {name}.yaml, neither there nor in configs/",
        "name the folder of FailureAtlas, the one that holds configs/ and corpus/",
    )


def _corpus(folder: Path, default: _File) -> Path:
    named = default.get("corpus_dir", "corpus", "corpus_path", "entity_file", "prompt_file", "tree_file")
    places = [folder / "corpus", folder]
    if isinstance(named, str):
        given = folder / named
        places = [given, given.parent, *places]
    for place in places:
        if (place / CORPUS_FILE).is_file() or (place / "entities.json").is_file():
            return place
    raise ConfigError(
        f"{folder}: no folder with {CORPUS_FILE} (looked in {', '.join(str(place) for place in places)})",
        "put its corpus folder beside configs/",
    )


def _servers(file: _File, name: str) -> list[Any]:
    servers = file.get("servers", "endpoints", "urls")
    if isinstance(servers, str | Mapping):
        servers = [servers]
    if not servers:
        raise ConfigError(f"{name}.yaml names no `servers`", "list them there, or write the config by hand")
    return list(servers)


def _address(server: Any, path: str) -> str:
    """`host:port`, an address, or `{host, port}`, as the base of an endpoint."""
    if isinstance(server, Mapping):
        host = next(
            (server[key] for key in ("url", "base_url", "address", "host", "ip") if key in server), ""
        )
        port = server.get("port")
        server = f"{host}:{port}" if port and f":{port}" not in str(host) else host
    text = str(server).strip().rstrip("/")
    for ending in ("/generate", "/chat/completions", "/v1"):
        text = text.removesuffix(ending)
    return f"{text if '://' in text else f'http://{text}'}{path}"


def _target(file: _File, notes: list[str]) -> RoleDraft:
    servers = _servers(file, "t2i_server")
    models = [str(server.get("model", "")) if isinstance(server, Mapping) else "" for server in servers]
    model = next(filter(None, models), "") or str(file.get("model", "model_name", default="t2i"))
    chosen = [server for server, name in zip(servers, models, strict=True) if name in ("", model)]
    if len(chosen) < len(servers):
        others = sorted({name for name in models if name not in ("", model)})
        notes.append(
            f"t2i_server.yaml: only the servers of {model} are taken, not those of {', '.join(others)}"
        )
    defaults = file.get("defaults", default={})
    own = _File(defaults.get(model, defaults) if isinstance(defaults, Mapping) else {})
    settings: dict[str, Any] = {"model": model, "endpoints": [_address(server, "") for server in chosen]}
    params = own.numbers(
        num_inference_steps="num_inference_steps steps",
        guidance_scale="guidance_scale guidance",
        height="height resolution",
        width="width resolution",
    )
    if params:
        settings["params"] = params
    batch = own.get("server_batch_size", "batch_size")
    if isinstance(batch, int):
        settings["batch"] = batch
    file.read |= own.read | {"model", "host", "port", "url", "ip"}
    return RoleDraft("generate", settings)


def _judge(file: _File) -> RoleDraft:
    servers = _servers(file, "vlm_client")
    first = next((server for server in servers if isinstance(server, Mapping)), {})
    model = first.get("model") or file.get("model", "model_name", "served_model_name", default="")
    if not model:
        raise ConfigError("vlm_client.yaml names no `model`", "add the name that the server knows it by")
    settings: dict[str, Any] = {
        "model": str(model),
        "endpoints": [_address(server, "/v1") for server in servers],
    }
    limits = file.numbers(image_max_side="image_max_side", timeout="timeout")
    settings |= {name: value for name, value in limits.items() if value > 0}
    params = {name: file.get(name) for name in ("temperature", "top_k", "enable_thinking", "max_tokens")}
    kept = {name: value for name, value in params.items() if value is not None}
    if kept:
        settings["params"] = kept
    file.read |= {"model", "host", "port", "url", "ip"}
    return RoleDraft("openai", settings)


def _search(default: _File, predictor: _File, notes: list[str]) -> dict[str, Any]:
    images = default.get("images_per_node", "num_images", "n_images", "batch_size", "images_per_prompt")
    search: dict[str, Any] = {
        "strategy": "failureatlas",
        "threshold": float(default.get("prune_threshold", "threshold", default=0.8)),
        "at_threshold": "fail",
        "images_per_node": int(images) if isinstance(images, int) else 25,
    }
    traversal = default.get("traversal")
    if traversal in ("entity", "layer"):
        search["traversal"] = traversal
    if predictor.get("enable", "enabled", default=False):
        numbers = predictor.numbers(
            warm_up="warmup_nodes",
            retrain_every="train_interval_nodes",
            epochs="epochs_per_train",
            learning_rate="lr",
        )
        search["predictor"] = {"kind": "transformer", **numbers}
        if predictor.get("t5_emb_file"):
            notes.append(
                "predictor.yaml: its pickled embeddings are not read; make them with `failscape corpus embed`"
            )
        predictor.read |= {"checkpoint_dir", "ckpt_dir", "save_dir"}
    else:
        predictor.read |= {key for key, _ in _pairs(predictor.data)}
    return search
