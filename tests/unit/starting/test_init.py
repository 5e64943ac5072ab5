"""`failscape init` writes configs that load, asks endpoints what they have, and overwrites nothing."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer
from click.testing import CliRunner, Result

from failscape.cli import main
from failscape.cli.init import command
from failscape.config.files import load_config
from failscape.errors import ConfigError
from failscape.starting.asking import ConfigAsker, RoleFlags, settle_role
from failscape.starting.endpoints import offered_models
from failscape.starting.from_failureatlas import read_failureatlas


def init(folder: Path, *flags: str) -> Result:
    return CliRunner().invoke(command, ["-o", str(folder / "hunt.yaml"), "--yes", *flags])


SETTINGS = {
    "t2i-toybox": ("--target", "toybox"),
    "t2i-generate": (
        *("--target", "generate", "--endpoint", "http://gpu:9000", "--model", "flux"),
        *("--judge", "toybox"),
    ),
    "t2i-diffusers": ("--target", "diffusers", "--judge", "transformers", "--judge-model", "some/vlm"),
    "t2i-python": ("--target", "python", "--judge", "python"),
    "classifier-toybox": ("--hunt", "classifier", "--target", "toybox"),
    "classifier-onnx": (
        *(
            "--hunt",
            "classifier",
            "--target",
            "onnx",
            "--path",
            "resnet.onnx",
            "--classes",
            "cat, snow leopard",
        ),
        *("--generator", "toybox", "--judge", "toybox"),
    ),
    "classifier-photos": (
        "--hunt",
        "classifier",
        "--target",
        "toybox",
        "--photos",
        "pets",
        "--judge",
        "toybox",
    ),
    "vlm-toybox": ("--hunt", "vlm", "--target", "toybox"),
    "vlm-transformers": ("--hunt", "vlm", "--target", "transformers", "--model", "some/vlm"),
    "vlm-photos": (
        *("--hunt", "vlm", "--target", "transformers", "--model", "a/b", "--photos", "street"),
        *("--judge", "transformers", "--judge-model", "c/d"),
    ),
}


@pytest.mark.parametrize("flags", SETTINGS.values(), ids=SETTINGS.keys())
def test_what_is_written_can_be_loaded(flags: tuple[str, ...], tmp_path: Path) -> None:
    done = init(tmp_path, *flags)
    assert done.exit_code == 0, done.output
    settings = load_config(tmp_path / "hunt.yaml")
    assert settings.target.provider == flags[flags.index("--target") + 1]
    assert "failscape doctor" in done.output


def test_a_model_file_is_written_where_one_is_needed(tmp_path: Path) -> None:
    init(tmp_path, "--target", "python", "--judge", "python")
    text = (tmp_path / "my_models.py").read_text()
    compile(text, "my_models.py", "exec")
    assert "def draw(" in text
    assert "def judge(" in text


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "hunt.yaml").write_text("mine")
    done = init(tmp_path, "--target", "toybox")
    assert isinstance(done.exception, ConfigError)
    assert "hunt-2.yaml" in done.exception.fix
    assert (tmp_path / "hunt.yaml").read_text() == "mine"


def test_a_model_file_that_is_there_is_used_and_never_overwritten(tmp_path: Path) -> None:
    (tmp_path / "my_models.py").write_text("mine")
    done = init(tmp_path, "--target", "python", "--judge", "toybox")
    assert done.exit_code == 0
    assert "my_models.py is there already and is used as it is: it needs `draw`" in done.stderr
    assert (tmp_path / "my_models.py").read_text() == "mine"


def test_the_file_that_path_names_serves_all_roles(tmp_path: Path) -> None:
    assert init(tmp_path, "--target", "python", "--path", "mine.py", "--judge", "python").exit_code == 0
    models = load_config(tmp_path / "hunt.yaml").models()
    assert models["generator"].path == "mine.py:draw"
    assert models["generator"].model == "my-painter"
    assert models["judge"].path == "mine.py:judge"
    assert not (tmp_path / "my_models.py").exists()


def test_photos_need_neither_a_judge_nor_the_kind_of_hunt(tmp_path: Path) -> None:
    done = init(tmp_path, "--photos", "val", "--target", "onnx", "--path", "m.onnx")
    assert done.exit_code == 0, done.output
    config = load_config(tmp_path / "hunt.yaml")
    assert config.hunt == "classifier"
    assert not {"judge", "captioner", "generator"} & set(config.models())
    assert config.target.model == "m"


def test_a_classifier_of_ones_own_gets_all_functions(tmp_path: Path) -> None:
    done = init(tmp_path, "--hunt", "classifier", "--target", "python")
    assert "write the names of your own classes" in done.stderr
    code = (tmp_path / "my_models.py").read_text()
    for path in {model.path for model in load_config(tmp_path / "hunt.yaml").models().values()}:
        assert f"def {path.partition(':')[2]}(" in code


def test_commands_quote_names_with_spaces(tmp_path: Path) -> None:
    folder = tmp_path / "my hunts"
    done = init(folder, "--target", "toybox")
    assert f"failscape doctor '{folder / 'hunt.yaml'}'" in done.output


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--target", "nonsense"), "--target must be one of"),
        (("--hunt", "classifier", "--target", "onnx", "--generator", "toybox"), "--classes is needed"),
        (("--target", "openai"), "--endpoint is needed"),
        (("--target", "openai", "--endpoint", "http://127.0.0.1:9"), "cannot be asked"),
        (("--target", "toybox", "--corpus", "nowhere"), "no corpus 'nowhere'"),
    ],
)
def test_what_is_missing_is_named(flags: tuple[str, ...], said: str, tmp_path: Path) -> None:
    done = init(tmp_path, *flags)
    assert isinstance(done.exception, ConfigError)
    assert said in done.exception.message
    assert done.exception.fix
    assert not (tmp_path / "hunt.yaml").exists()


async def serve(reply: web.Response) -> TestServer:
    async def models(_: web.Request) -> web.Response:
        return reply

    app = web.Application()
    app.router.add_get("/v1/models", models)
    server = TestServer(app)
    await server.start_server()
    return server


@pytest.mark.parametrize(
    ("reply", "names", "trouble"),
    [
        (web.json_response({"data": [{"id": "a"}, {"id": "b"}]}), ("a", "b"), ""),
        (web.json_response({"data": []}), (), "lists no models"),
        (web.json_response({}, status=401), (), "wants a key"),
        (web.json_response({}, status=404), (), "answers 404"),
        (web.Response(text="hello"), (), "cannot be asked"),
    ],
)
async def test_endpoints_are_asked_for_their_models(
    reply: web.Response, names: tuple[str, ...], trouble: str
) -> None:
    server = await serve(reply)
    offered = await offered_models(str(server.make_url("/")))
    await server.close()
    assert offered.models == names
    assert trouble in offered.trouble
    assert bool(offered.trouble) == bool(trouble)


def test_questions_are_asked_with_what_is_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, str, tuple[str, ...]]] = []

    def prompt(question: str, default: str, choices: object) -> str:
        asked.append((question, default, tuple(choices)))  # type: ignore[arg-type]
        return default

    async def two(endpoint: str, key_env: str = "") -> object:
        from failscape.starting.endpoints import Offered

        return Offered(("painter", "eyes"))

    monkeypatch.setattr("failscape.starting.asking.offered_models", two)
    asker = ConfigAsker(prompt)
    role = settle_role(asker, "generator", "the model", RoleFlags("openai", ("http://gpu:8000",)))
    assert role.settings["model"] == "painter"
    again = settle_role(asker, "judge", "the judge", RoleFlags(prefix="judge"), role)
    assert again.settings["endpoints"] == ["http://gpu:8000"]
    assert asked[-1][1:] == ("painter", ("painter", "eyes"))


def write_failureatlas(folder: Path) -> Path:
    configs, corpus = folder / "configs", folder / "corpus"
    configs.mkdir()
    corpus.mkdir()
    (configs / "default.yaml").write_text(
        "task_name: demo\ncorpus: {corpus_dir: corpus, use_sample_only: false}\n"
        "search: {batch_size: 20, prune_threshold: 0.7, traversal: entity, max_layer: 3, strange: 5}\n"
        "io: {output_dir: outputs, resume: true}\n"
    )
    (configs / "t2i_server.yaml").write_text(
        "servers:\n"
        "  - {host: gpu0, port: 9000, model: sdxl-turbo}\n"
        "  - {host: gpu1, port: 9001, model: flux}\n"
        "defaults:\n"
        "  sdxl-turbo: {steps: 1, guidance: 0.0, server_batch_size: 4, resolution: 512}\n"
        "  flux: {steps: 4}\n"
    )
    (configs / "vlm_client.yaml").write_text(
        "servers: ['http://gpu2:8080/v1/chat/completions']\nmodel: Qwen2.5-VL-72B-Instruct\nworkers: 32\n"
        "timeout: 60\ntemperature: 0.0\ntop_k: 1\nenable_thinking: false\nimage_max_side: 768\n"
    )
    (configs / "predictor.yaml").write_text(
        "predictor: {enable: true, t5_emb_file: emb.pkl, warmup_nodes: 500, train_interval_nodes: 5000,\n"
        "  lr: 0.002}\n"
    )
    (corpus / "entity_en.json").write_text(json.dumps({"Animals": {"Pets": ["Cat", "Dog"]}}))
    (corpus / "attribute_en_base.json").write_text(json.dumps({"Colors": ["Red", "Blue"]}))
    return folder


def test_failureatlas_is_taken_over_and_what_is_not_is_told(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    done = init(tmp_path, "--from-failureatlas", str(write_failureatlas(theirs)))
    assert done.exit_code == 0, done.output
    settings = load_config(tmp_path / "hunt.yaml").model_dump(mode="json")
    assert settings["target"]["endpoints"] == ["http://gpu0:9000"]
    assert settings["target"]["batch"] == 4
    assert settings["target"]["params"] == {
        "num_inference_steps": 1,
        "guidance_scale": 0.0,
        "height": 512,
        "width": 512,
    }
    judge = settings["judge"]
    assert judge["endpoints"] == ["http://gpu2:8080/v1"]
    assert judge["params"] == {"temperature": 0.0, "top_k": 1, "enable_thinking": False}
    assert (judge["image_max_side"], judge["timeout"]) == (768, 60)
    search = settings["search"]
    assert (search["strategy"], search["threshold"], search["images_per_node"]) == ("failureatlas", 0.7, 20)
    assert (search["traversal"], search["at_threshold"]) == ("entity", "fail")
    assert (search["predictor"]["warm_up"], search["predictor"]["learning_rate"]) == (500, 0.002)
    assert settings["space"]["entities"] == "all"
    assert settings["space"]["depth"] == 2
    assert settings["runtime"]["in_flight"] == 32
    for words in ("strange", "flux", "corpus embed"):
        assert words in done.output


def test_a_folder_that_is_not_failureatlas_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"no default\.yaml"):
        read_failureatlas(tmp_path)


def test_errors_reach_the_screen_without_a_traceback(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as exit_:
        main(["init", "--yes", "--target", "openai"])
    assert exit_.value.code == 2
    assert "fix:" in capsys.readouterr().err
