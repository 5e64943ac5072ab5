"""A folder of toybox pictures with planted slices: the page leads with what is wrong, then slices.

Planted: penguins at night are called owl, cars drawn as a sketch are called toaster, cows of camera B are
called horse. Captions and the judge can see the first two, only the metadata know the third.
"""

from __future__ import annotations

import asyncio
import json
import random
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from PIL import Image

from failscape.atlas import Atlas
from failscape.cli import cli
from failscape.config.files import parse_config
from failscape.kinds.classifier.photo_survey import PhotoSurvey
from failscape.runtime.progress import PlainReporter
from failscape.runtime.session import run_session
from failscape.toybox.renderer import draw
from failscape.views.read import HuntEvidence, load_hunt
from failscape.views.read.findings import suggestions

PER_CLASS = 120
PLANTED = {"penguin": ("at night", "owl"), "car": ("sketch", "toaster"), "cow": ("camera B", "horse")}
NET = """
import hashlib, json, pathlib
labels = json.loads((pathlib.Path(__file__).parent / "labels.json").read_text())
def classify(images):
    keys = [hashlib.sha256(one.convert("RGB").tobytes()).hexdigest() for one in images]
    return [[(labels[key], 0.9), ("something else", 0.1)] for key in keys]
"""


def make_folder(root: Path) -> None:
    """Every third picture of a class belongs to its slice, and fails four times of five."""
    import hashlib

    luck, rows, labels = random.Random(5), [], {}
    for name, (odd, wrong) in PLANTED.items():
        (root / "photos" / name).mkdir(parents=True)
        for number in range(PER_CLASS):
            inside = number % 3 == 0
            prompt = {"at night": f"a {name} at night", "sketch": f"a sketch of a {name}"}.get(odd)
            plain = f"a photo of a {name} at noon"
            picture = Image.fromarray(draw(prompt if prompt and inside else plain, 1000 + number))
            file = f"{name}/{number}.png"
            picture.save(root / "photos" / file)
            camera = ("B" if inside else "A") if odd == "camera B" else luck.choice(["A", "B", None])
            rows.append({"file_name": file, "camera": camera})
            failed = luck.random() < (0.8 if inside else 0.04)
            labels[hashlib.sha256(picture.tobytes()).hexdigest()] = wrong if failed else name.upper()
    (root / "photos" / "metadata.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "labels.json").write_text(json.dumps(labels))
    (root / "net.py").write_text(NET)


SETTINGS = {
    "hunt": "classifier",
    "judge": {"provider": "toybox"},
    "captioner": {"provider": "toybox"},
    "space": {"corpus": "toybox"},
}


@pytest.fixture(scope="module")
def hunted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("photos")
    make_folder(root)
    target = {"provider": "python", "path": f"{root}/net.py:classify"}
    config = parse_config({**SETTINGS, "target": target, "photos": str(root / "photos")}, "test")
    asyncio.run(run_session(config, root / "atlas", PlainReporter()))
    return root / "atlas"


def loaded(atlas: Path) -> HuntEvidence:
    return load_hunt(Atlas.open(atlas, readonly=True))


def test_true_slices_are_found_by_captions_judge_and_metadata(hunted: Path) -> None:
    hunt = loaded(hunted)
    subjects = {finding.subject for finding in hunt.findings}
    assert {
        "penguin; Background: time=night",
        "car; Image: style=sketch",
        "cow; Metadata: camera=B",
    } <= subjects
    told = " ".join(finding.title for finding in hunt.findings)
    assert "mostly as owl" in told
    assert "Cows whose camera is B are misclassified" in told


def test_confusions_come_first_and_add_up(hunted: Path) -> None:
    survey = loaded(hunted).survey_as(PhotoSurvey)
    assert survey is not None
    assert survey.fails == sum(one.count for one in survey.confusions)
    assert {(one.true, one.said) for one in survey.confusions[:3]} == {
        (name, wrong) for name, (_, wrong) in PLANTED.items()
    }
    assert survey.photos > 0.9 * 3 * PER_CLASS


def test_the_photos_that_count_add_up_to_the_rate(hunted: Path) -> None:
    lines = CliRunner().invoke(cli, ["findings", str(hunted), "--json"]).output.splitlines()
    assert lines
    for record in map(json.loads, lines):
        counted = [one["verdict"] for one in record["evidence"] if one["counted"]]
        assert (counted.count("fail"), len(counted)) == (record["failures"], record["trials"])


def test_the_terminal_names_slices_by_their_column_and_counts_looks_as_trials(hunted: Path) -> None:
    hunt, output = loaded(hunted), CliRunner().invoke(cli, ["findings", str(hunted)]).output
    assert "cows whose camera is B" in output
    assert hunt.trials > 3 * PER_CLASS
    assert f"in {hunt.trials:,} trials of hunt 1" in output


def test_a_matrix_counts_a_photo_once(hunted: Path, tmp_path: Path) -> None:
    """The folder that was hunted, given again by name, is one set: twice the photos would halve the doubt."""
    photos = hunted.parent / "photos"
    arguments = ["compare", str(hunted), "--target", "toybox:vit", "--matrix", "--photos", str(photos)]
    arguments.append("--trust-models")
    result = CliRunner().invoke(cli, [*arguments, "--json", "--atlas", str(tmp_path / "compared")])
    assert result.exit_code == 0, result.output
    sets = json.loads(result.stdout.splitlines()[-1])["matrix"]["sets"]
    assert {one["name"]: one["given"] for one in sets if "findings" not in one["name"]} == {
        str(photos): 3 * PER_CLASS,
        "all sets": 3 * PER_CLASS,
    }
    assert any("findings" in one["name"] for one in sets), "slices are sets of their own"


class Headings(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag == "h2"

    def handle_data(self, data: str) -> None:
        if self._inside and data.strip():
            self.found.append(data.strip())
            self._inside = False


def test_the_page_leads_with_what_is_wrong(hunted: Path) -> None:
    result = CliRunner().invoke(cli, ["report", str(hunted)])
    assert result.exit_code == 0, result.output
    page = (hunted / "report" / "index.html").read_text()
    assert "than usual. <b>How sure:</b>" in page
    headings = Headings(page).found
    assert page.index("gets 101 of 349 photos wrong") < page.index("All findings"), "the headline comes first"
    assert headings[:3] == ["All findings", "101 of 349 photos are wrong", "Bugs in plain words"]


def test_a_folder_lacks_photos_and_not_a_budget(hunted: Path) -> None:
    advice = list(suggestions(loaded(hunted)))
    assert any(text.startswith("add photos: ") for text in advice)
    assert not any("budget" in text for text in advice)


def test_doctor_examines_a_hunt_in_photos(hunted: Path, tmp_path: Path) -> None:
    root = hunted.parent
    config = tmp_path / "photos.yaml"
    target = {"provider": "python", "path": f"{root}/net.py:classify"}
    config.write_text(json.dumps({**SETTINGS, "target": target, "photos": str(root / "photos")}))
    result = CliRunner().invoke(cli, ["doctor", str(config)])
    assert result.exit_code == 0, result.output
    for text in ("classifier-right", "classifier-repeats", "embedder"):
        assert text in result.output


def compared(hunted: Path, *arguments: object) -> dict[str, Any]:
    result = CliRunner().invoke(
        cli, ["compare", str(hunted), *map(str, arguments), "--trust-models", "--json"]
    )
    assert result.exit_code == 0, result.output
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return found


def test_a_model_is_compared_on_all_photos_and_a_second_time_alike(hunted: Path, tmp_path: Path) -> None:
    place = ("--target", "toybox:vit", "--atlas", tmp_path / "compared")
    data = compared(hunted, *place)
    survey = loaded(hunted).survey_as(PhotoSurvey)
    assert survey is not None
    assert data["overall"]["pairs"] == survey.photos
    assert compared(hunted, *place)["overall"] == data["overall"]
    for status in ("fixed", "better", "worse", "new"):
        for row in data[status]:
            assert not row["interval"][0] <= 0 <= row["interval"][1], row


def test_photos_that_were_trained_on_are_left_out(hunted: Path, tmp_path: Path) -> None:
    """Copies under other names: pictures are known by their content."""
    trained = sorted((hunted.parent / "photos" / "cow").glob("*.png"))[:40]
    (tmp_path / "train").mkdir()
    for number, path in enumerate(trained):
        (tmp_path / "train" / f"copy-{number}.png").write_bytes(path.read_bytes())
    place = ("--target", "toybox:vit", "--atlas", tmp_path / "compared")
    data = compared(hunted, *place, "--trained-on", tmp_path / "train")
    note = next(text for text in data["notes"] if "trained on" in text)
    left_out = int(note.split()[0])
    assert 30 < left_out <= 40
    survey = loaded(hunted).survey_as(PhotoSurvey)
    assert survey is not None
    assert data["overall"]["pairs"] == survey.photos - left_out


def test_a_split_that_hides_nothing_says_so(hunted: Path, tmp_path: Path) -> None:
    """No two findings of one rule: there is none to hold back."""
    result = CliRunner().invoke(
        cli, ["dataset", str(hunted), "-o", str(tmp_path / "data"), "--split", "shown"]
    )
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in (tmp_path / "data" / "metadata.jsonl").read_text().splitlines()]
    hides = {row["split"] for row in rows} == {"train", "retest"}
    assert hides != ("hides nothing" in result.output)
