"""Atlases of strangers are data: whatever is in them, no command reads or writes outside, none falls over.

Each atlas here is a good one with one thing spoilt. Every command that reads atlases must do its work or
name what is wrong; what lies outside the atlas must not turn up in what it writes.
"""

from __future__ import annotations

import asyncio
import io
import json
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from failscape.again.gate import read_baseline
from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.cli.findings import _cell
from failscape.config.files import parse_config
from failscape.errors import AtlasError, ConfigError, FailscapeError
from failscape.pictures import Picture
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from tests.unit.atlas.suite import make_picture

_PLANTED = "failscape.simulate.models"
WORLD = {"params": {"regime": "weak"}}
SETTINGS = {
    "hunt": "t2i",
    "target": {"provider": "python", "path": f"{_PLANTED}:PlantedGenerator", **WORLD},
    "judge": {"provider": "python", "path": f"{_PLANTED}:PlantedJudge", **WORLD},
    "space": {"corpus": "starter", "depth": 1, "entities": ["cat"]},
    "search": {"strategy": "failureatlas", "images_per_node": 5},
    "budget": {"images": 60},
    "seed": 3,
}
SECRET = make_picture(4711, 40)
WORDS = {"Private": {"Diary": ["the secret word"]}}
ESCAPES = (
    "../../secret",
    "../../../secret.png",
    "/etc/hostname",
    "..",
    "",
    "x" * 32,
    "A" * 32,
    "0" * 31 + "\n",
)


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sound") / "atlas"
    asyncio.run(run_session(parse_config(SETTINGS, "test"), folder, PlainReporter(io.StringIO())))
    with closing(sqlite3.connect(folder / "atlas.db")) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        db.execute("DELETE FROM results")  # so that trials are really read
        db.commit()
    return folder


@pytest.fixture
def home(tmp_path: Path, sound: Path) -> Path:
    """A folder with an atlas in it and private things beside it."""
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "secret.png").write_bytes(SECRET.data)
    (tmp_path / "home" / "private").mkdir()
    (tmp_path / "home" / "private" / "entities.json").write_text(json.dumps(WORDS))
    shutil.copytree(sound, tmp_path / "home" / "atlas")
    return tmp_path / "home"


def spoil(home: Path, *statements: str, values: tuple[Any, ...] = ()) -> None:
    with closing(sqlite3.connect(home / "atlas" / "atlas.db")) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        for statement in statements:
            db.execute(statement, values if "?" in statement else ())
        db.commit()


def run(*words: object) -> Result:
    """A command as a user types it. An error that a user can mend is a result; any other is a fault."""
    result = CliRunner().invoke(cli, [str(word) for word in words])
    if isinstance(result.exception, Exception) and not isinstance(result.exception, FailscapeError):
        raise result.exception
    return result


def commands(home: Path, out: Path) -> Iterator[tuple[str, Callable[[], Result]]]:
    atlas = home / "atlas"
    judge = out / "judge.yaml"
    out.mkdir(exist_ok=True)
    path = f"{_PLANTED}:PlantedJudge"
    judge.write_text(
        json.dumps({"judge": {"provider": "python", "path": path, "params": {"regime": "strong"}}})
    )
    yield "findings", lambda: run("findings", atlas, "--json")
    yield "report", lambda: run("report", atlas, "-o", out / "report")
    yield "report inside", lambda: run("report", atlas)
    for form in ("jsonl", "csv", "failureatlas"):
        yield form, lambda form=form: run("export", atlas, "--format", form, "-o", out / form)  # type: ignore[misc]
    yield "pictures", lambda: run("export", atlas, "--format", "pictures", "-o", out / "pictures")
    yield "review", lambda: run("review", "export", atlas, "--out", out / "review")
    yield "dataset", lambda: run("dataset", atlas, "-o", out / "dataset")
    yield "merge", lambda: run("merge", atlas, "-o", out / "merged")
    yield "doctor", lambda: run("doctor", atlas)
    yield "rejudge", lambda: run("rejudge", atlas, "--judge", judge)
    yield "reread", lambda: run("rejudge", atlas, "--reread")


def check_all(home: Path, out: Path) -> dict[str, Result]:
    """Run every command; then look whether anything private got out, or anything strange got outside."""
    before = sorted(path for path in home.rglob("*") if "atlas" not in path.relative_to(home).parts)
    done = {}
    for name, command in commands(home, out):
        done[name] = command()
        assert "secret word" not in done[name].output, name
    assert sorted(path for path in home.rglob("*") if "atlas" not in path.relative_to(home).parts) == before
    for path in [*out.rglob("*"), *(home / "atlas" / "report").rglob("*")]:
        if path.is_file():
            data = path.read_bytes()
            assert SECRET.data not in data, path
            assert b"secret word" not in data, path
    return done


def test_a_sound_atlas_passes_all_commands(home: Path, tmp_path: Path) -> None:
    done = check_all(home, tmp_path / "out")
    failed = {name for name, result in done.items() if result.exit_code}
    assert failed == {"reread"}, "its judge has no words that could be read again"


@pytest.mark.parametrize("digest", ESCAPES)
def test_digests_that_lead_elsewhere(home: Path, tmp_path: Path, digest: str) -> None:
    spoil(
        home,
        "UPDATE OR IGNORE images SET digest = ? WHERE digest = (SELECT min(digest) FROM images)",
        "UPDATE calls SET image = ? WHERE image IS NOT NULL",
        "UPDATE trials SET facts = json_set(facts, '$[0]', ?)",
        values=(digest,),
    )
    check_all(home, tmp_path / "out")


@pytest.mark.parametrize("name", ["../../secret", "/etc/hostname", "..", "0" * 15 + "/"])
def test_packs_that_lead_elsewhere(home: Path, tmp_path: Path, name: str) -> None:
    spoil(home, "UPDATE packs SET name = ?", values=(name,))
    check_all(home, tmp_path / "out")


def test_links_in_place_of_pictures(home: Path, tmp_path: Path) -> None:
    for pack in (home / "atlas" / "images").glob("*.pack"):
        pack.unlink()
        pack.symlink_to(home / "secret.png")
    spoil(home, "UPDATE images SET start = 0, bytes = ?", values=(len(SECRET.data),))
    check_all(home, tmp_path / "out")


def test_old_pictures_that_are_links(home: Path, tmp_path: Path) -> None:
    """Files of their own, as earlier versions kept pictures; the secret's own digest makes it fit."""
    spoil(
        home,
        "DELETE FROM images",
        f"INSERT INTO images VALUES ('{SECRET.digest}', {len(SECRET.data)}, 40, 40, 'PNG', NULL, NULL)",
        "UPDATE calls SET image = ? WHERE image IS NOT NULL",
        "UPDATE trials SET facts = json_set(facts, '$[0]', ?)",
        values=(SECRET.digest,),
    )
    near = home / "atlas" / "images" / SECRET.digest[:2]
    near.mkdir()
    (near / f"{SECRET.digest}.png").symlink_to(home / "secret.png")
    check_all(home, tmp_path / "out")
    shutil.rmtree(near)
    (home / f"x{SECRET.digest[:2]}").mkdir()
    shutil.copy(home / "secret.png", home / f"x{SECRET.digest[:2]}" / f"{SECRET.digest}.png")
    near.symlink_to(home / f"x{SECRET.digest[:2]}")
    check_all(home, tmp_path / "out2")


def test_a_report_folder_that_is_a_link(home: Path) -> None:
    (home / "atlas" / "report").symlink_to(home / "private")
    with pytest.raises(AtlasError, match="symbolic link"):
        raise_of(run("report", home / "atlas"))
    assert [path.name for path in (home / "private").iterdir()] == ["entities.json"]


@pytest.mark.parametrize(
    "corpus", ["atlas:../private", "atlas:corpora/../../private", "atlas:/etc", "atlas:"]
)
def test_corpora_that_lie_elsewhere(home: Path, tmp_path: Path, corpus: str) -> None:
    spoil(home, "UPDATE hunts SET config = json_set(config, '$.space.corpus', ?)", values=(corpus,))
    check_all(home, tmp_path / "out")


@pytest.mark.parametrize("whole", [True, False])
def test_corpora_that_are_links(home: Path, tmp_path: Path, whole: bool) -> None:
    spoil(home, "UPDATE hunts SET config = json_set(config, '$.space.corpus', 'atlas:corpora/words')")
    (home / "atlas" / "corpora").mkdir(exist_ok=True)
    place = home / "atlas" / "corpora" / "words"
    if whole:
        place.symlink_to(home / "private")
    else:
        place.mkdir()
        (place / "entities.json").symlink_to(home / "private" / "entities.json")
    for name, result in check_all(home, tmp_path / "out").items():
        assert isinstance(result.exception, AtlasError), name


MALFORMED = [
    "UPDATE hunts SET config = '{'",
    "UPDATE hunts SET config = '[1]'",
    "UPDATE hunts SET identities = '{\"judge\": 999}'",
    "UPDATE hunts SET kind = 'strange'",
    "UPDATE hunts SET shard = 'x'",
    "UPDATE identities SET settings = 'null'",
    "UPDATE plans SET steps = 'no json'",
    'UPDATE plans SET steps = \'[{"do": "explode"}]\'',
    'UPDATE plans SET steps = \'[{"do": "generate", "prompt": "a", "more": 1}]\'',
    "UPDATE plans SET steps = '{}'",
    "DELETE FROM plans",
    "UPDATE trials SET facts = '['",
    "UPDATE trials SET facts = '{\"a\": 1}'",
    "UPDATE trials SET facts = '[7, \"yes\"]'",
    "UPDATE trials SET facts = '[\"x\", [true]]'",
    "UPDATE trials SET verdict = 'perhaps'",
    "UPDATE trials SET seed = 'x'",
    "UPDATE trials SET calls = 'text'",
    "UPDATE trials SET subject = x'00ff'",
    "UPDATE trials SET plan = 999",
    "UPDATE trials SET started = 'then'",
    "UPDATE calls SET facts = 'no'",
    "UPDATE calls SET identity = 999",
    "UPDATE calls SET image = x'00'",
    "UPDATE events SET detail = 'no'",
    "UPDATE events SET detail = '[]', at = 'now'",
    "UPDATE images SET start = -5",
    "UPDATE images SET start = 1 << 60",
    "UPDATE images SET bytes = 1 << 60",
    "UPDATE images SET bytes = 'many'",
    "UPDATE totals SET pass = 'x'",
    "DELETE FROM totals",
    "UPDATE results SET content = x'00'",
    "CREATE VIEW strange AS SELECT 1",
    "CREATE TRIGGER strange AFTER INSERT ON events BEGIN DELETE FROM trials; END",
    "DROP TABLE plans",
    "ALTER TABLE trials RENAME COLUMN facts TO said",
]


@pytest.mark.parametrize("statement", MALFORMED)
def test_malformed_rows_are_named(home: Path, tmp_path: Path, statement: str) -> None:
    spoil(home, statement)
    for name, result in check_all(home, tmp_path / "out").items():
        if result.exit_code and result.exception is not None and name != "dataset":
            said = str(result.exception)
            assert said.strip(), name
            assert "Traceback" not in said


def test_a_malformed_trial_is_named_by_its_number(home: Path) -> None:
    spoil(home, "UPDATE trials SET facts = '[7, \"yes\"]' WHERE id = 5")
    with pytest.raises(
        AtlasError, match=r"row trials 5 of the atlas is malformed: .*generate has no such fact"
    ):
        raise_of(run("export", home / "atlas"))


def test_facts_of_any_depth_are_one_error(home: Path) -> None:
    spoil(home, "UPDATE trials SET facts = ?", values=("[" * 100_000 + "]" * 100_000,))
    for words in (("prune", "--passes"), ("export",), ("doctor",)):
        assert run(words[0], home / "atlas", *words[1:]).exit_code


def test_a_baseline_of_any_depth_is_one_error(tmp_path: Path) -> None:
    (tmp_path / "base.json").write_text("[" * 100_000)
    with pytest.raises(ConfigError, match="is not JSON"):
        read_baseline(tmp_path / "base.json")


@pytest.mark.parametrize(
    "changes",
    [
        {"limit": 10**400},
        {"subjects": []},
        {"subjects": {"cat": {"group": "", "cases": [["#1", 0, 1 << 70, 0]]}}},
        {"subjects": {"cat": {"group": "", "cases": [["#1", 0, -1, 0]]}}},
    ],
)
def test_a_baseline_with_odd_values_is_one_error(home: Path, tmp_path: Path, changes: dict[str, Any]) -> None:
    path = tmp_path / "base.json"
    assert run("gate", "freeze", home / "atlas", "--output", path).exit_code == 0
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))
    with pytest.raises(ConfigError, match="is damaged"):
        read_baseline(path)


@pytest.mark.parametrize("form", ["jsonl", "csv"])
def test_an_export_into_a_strange_folder_follows_no_draft(home: Path, form: str) -> None:
    own = home / "own.txt"
    own.write_text("mine")
    (home / "atlas" / "rows.part").symlink_to(own)
    assert run("export", home / "atlas", "--format", form, "-o", home / "atlas" / "rows").exit_code == 0
    assert own.read_text() == "mine"
    assert (home / "atlas" / "rows").read_text().count("\n") > 1


def test_a_review_beside_a_strange_draft_is_refused(home: Path) -> None:
    own = home / "own"
    own.mkdir()
    (home / "atlas" / ".review.part").symlink_to(own)
    with pytest.raises(AtlasError, match="symbolic link"):
        raise_of(run("review", "export", home / "atlas", "--out", home / "atlas" / "review"))
    assert not list(own.iterdir())


def test_import_into_a_strange_atlas(home: Path, tmp_path: Path) -> None:
    assert run("export", home / "atlas", "--format", "failureatlas", "-o", tmp_path / "rows").exit_code == 0
    spoil(home, "CREATE TRIGGER strange AFTER INSERT ON events BEGIN DELETE FROM trials; END")
    with pytest.raises(AtlasError, match="trigger"):
        raise_of(run("import", tmp_path / "rows", "--atlas", home / "atlas"))
    with Atlas.open(tmp_path / "new", create=True):
        (tmp_path / "new" / "corpora").symlink_to(home / "private")
    with pytest.raises(AtlasError, match="symbolic link"):
        raise_of(run("import", tmp_path / "rows", "--atlas", tmp_path / "new"))
    assert [path.name for path in (home / "private").iterdir()] == ["entities.json"]


def test_an_import_of_one_thing_without_values_can_be_read(home: Path, tmp_path: Path) -> None:
    assert run("export", home / "atlas", "--format", "failureatlas", "-o", tmp_path / "rows").exit_code == 0
    first = (tmp_path / "rows").read_text().splitlines()[0]
    assert json.loads(first)["value"] == []
    (tmp_path / "one").write_text(f"{first}\n")
    assert run("import", tmp_path / "one", "--atlas", tmp_path / "new").exit_code == 0
    for command in ("findings", "report"):
        assert run(command, tmp_path / "new").exit_code == 0


@pytest.mark.parametrize(
    "row", ["[" * 100_000, '{"model": ' * 100_000, '{"model": "a", "case": ' + "[" * 100_000]
)
def test_an_import_of_any_depth_is_one_error(tmp_path: Path, row: str) -> None:
    (tmp_path / "rows.jsonl").write_text(row)
    with pytest.raises(AtlasError, match="line 1"):
        raise_of(run("import", tmp_path / "rows.jsonl", "--atlas", tmp_path / "new"))


@pytest.mark.parametrize("words", [("report", "--single-file"), ("report",), ("dataset", "--parquet")])
@pytest.mark.parametrize("name", ["", "images", "thumbs", "comparison", "data.parquet", "index.html"])
def test_links_in_folders_that_are_written_to(home: Path, words: tuple[str, ...], name: str) -> None:
    """A strange atlas may come with `report` or `dataset-1`: nothing is written through what they hold."""
    place = home / "atlas" / {"report": "report", "dataset": "dataset-1"}[words[0]] / name
    place.parent.mkdir(exist_ok=True)
    outside = home / ("secret.png" if "." in name else "private")
    place.symlink_to(outside)
    with pytest.raises(AtlasError, match="symbolic link"):
        raise_of(run(words[0], home / "atlas", *words[1:]))
    assert [path.name for path in (home / "private").iterdir()] == ["entities.json"]
    assert (home / "secret.png").read_bytes() == SECRET.data


@pytest.mark.parametrize(
    ("made", "disguise"),
    [
        ("CREATE TRIGGER strange AFTER INSERT ON events BEGIN DELETE FROM trials; END", "type = 'TRIGGER'"),
        ("CREATE VIEW strange AS SELECT 1", "type = 'VIEW'"),
        (
            "CREATE VIRTUAL TABLE strange USING fts5(a)",
            "sql = replace(sql, 'CREATE VIRTUAL', 'CREATE/**/VIRTUAL')",
        ),
    ],
)
def test_what_runs_inside_a_database_is_seen_in_disguise(home: Path, made: str, disguise: str) -> None:
    spoil(
        home,
        made,
        "PRAGMA writable_schema = ON",
        f"UPDATE sqlite_master SET {disguise} WHERE name = 'strange'",
    )
    for words in (("findings",), ("prune", "--passes")):
        with pytest.raises(AtlasError, match="'strange', which no failscape made"):
            raise_of(run(words[0], home / "atlas", *words[1:]))


def test_titles_that_a_spreadsheet_would_run(home: Path) -> None:
    spoil(home, "UPDATE trials SET subject = '=cmd()' || subject, key = '=cmd()' || key")
    output = run("export", home / "atlas", "--format", "csv", "-o", "-").output
    assert "'=cmd()" in output
    assert _cell("=cmd()") == "'=cmd()"
    assert _cell(0.25) == "0.25"


def test_a_dataset_of_a_strange_atlas(home: Path, tmp_path: Path) -> None:
    """The classifier's atlas that is kept for comparison, spoilt as above."""
    kept = Path(__file__).parents[2] / "golden" / "fixtures" / "classifier"
    shutil.rmtree(home / "atlas")
    shutil.copytree(kept, home / "atlas")
    files = [path for path in (home / "atlas" / "images").rglob("*") if path.is_file()]
    assert files
    for path in files:
        path.unlink()
        path.symlink_to(home / "secret.png")
    result = run("dataset", home / "atlas", "-o", tmp_path / "dataset")
    assert result.exit_code
    assert not [
        path
        for path in tmp_path.rglob("dataset/**/*.png")
        if Picture(path.read_bytes()).digest == SECRET.digest
    ]


def raise_of(result: Result) -> None:
    assert isinstance(result.exception, FailscapeError), result.output
    raise result.exception
