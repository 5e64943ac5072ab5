"""Notebooks show objects as HTML that is escaped, self-contained and small; tables have fixed columns."""

from __future__ import annotations

import io
import shutil
from collections.abc import Callable
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup
from PIL import Image

import failscape
from failscape.again.comparing import ManyCompared, ModelTrend, TrendPoint
from failscape.again.decide import CaseResult, ModelResults, PairedComparison, compare_results
from failscape.notebooks import MOST_BYTES
from failscape.views.notebook import html_of
from failscape.views.notebook.html import bounded
from failscape.views.read.shots import rate_of_counts
from failscape.views.read.themes import Trait
from failscape.views.rows import FINDING_COLUMNS, TRIAL_COLUMNS, trial_data

ROOT = Path(__file__).parents[4]
FIXTURES = ROOT / "tests" / "golden" / "fixtures"
HOSTILE = "<script>alert(1)</script>\"' onload=x <img src=http://a.example/x>"
TAGS = {"div", "p", "table", "thead", "tbody", "tr", "th", "td", "img"}
ATTRIBUTES = {"class", "style", "src", "alt"}


@pytest.fixture
def kept(tmp_path: Path) -> Callable[[str], Path]:
    """Copies of the golden atlases: reading one leaves files beside it."""

    def copied(kind: str) -> Path:
        return Path(shutil.copytree(FIXTURES / kind, tmp_path / kind))

    return copied


class Page(HTMLParser):
    """Fails on a tag, attribute or address that the notebook has no reason to see; keeps the text."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text = ""
        self.pictures: list[str] = []
        self.open: list[str] = []
        self.feed(html)
        assert self.open == []
        assert len(html.encode()) <= MOST_BYTES

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in TAGS
        given = dict(attrs)
        assert given.keys() <= ATTRIBUTES
        if tag == "img":
            assert (given["src"] or "").startswith("data:image/webp;base64,")
            self.pictures.append(given["alt"] or "")
        else:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def draw_noise(prompt: str, seeds: list[int]) -> list[np.ndarray]:
    """Pictures that no format makes small; the first pixel says whether it is pink."""
    pictures = [np.random.default_rng(seed).integers(0, 256, (64, 64, 3), np.uint8) for seed in seeds]
    for pixels in pictures:
        pixels[0, 0] = 0 if "pink" in prompt else 255
    return pictures


def look(image: Any, checks: Any) -> list[bool]:
    return [bool(np.asarray(image)[0, 0, 0] > 100)] * len(checks)


def pass_all(image: Any, checks: Any) -> list[bool]:
    return [True] * len(checks)


def hunt(folder: Path, judge: Any, images: int = 120) -> failscape.Run:
    config = {
        "hunt": "t2i",
        "target": {"path": draw_noise, "model": HOSTILE},
        "judge": judge,
        "space": {"corpus": "toybox", "entities": ["car"], "families": ["Base"], "depth": 1},
        "search": {"strategy": "failureatlas", "images_per_node": 5},
        "budget": {"images": images},
        "seed": 3,
    }
    return failscape.run(config, atlas=folder, on_note=lambda *_: None)


def finding(**fields: Any) -> failscape.Finding:
    status = failscape.Status.CERTIFIED
    found = failscape.Finding("car", "a car", "A car.", status, 0.75, (0.3, 0.9), 40.0, 8, 6)
    return replace(found, **fields)


def theme(title: str) -> failscape.ToldTheme:
    rate = rate_of_counts(6, 8, "pictures")
    traits = (Trait("colour", "pink"),)
    return failscape.ToldTheme(1, title, traits, (1,), (1,), 1, (title,) * 5, 0, rate, False, "not tested")


def comparison(name: str) -> PairedComparison:
    cases = [CaseResult("car", str(number), True, fresh=True) for number in range(60)]
    passed = [replace(case, failed=False) for case in cases]
    titles = {"car": name}
    first = ModelResults(name, tuple(cases), titles=titles)
    second = ModelResults(f"{name} 2", tuple(passed), titles=titles)
    return replace(compare_results(first, second), notes=(name,))


def objects(text: str) -> list[Any]:
    """One of each kind that a notebook may show, with this text wherever a name can stand."""
    answer = failscape.HuntAnswer(text, (theme(text),), (), 1)
    trend = ModelTrend((TrendPoint(text, 1, 4, (0.1, 0.7)),), (), {})
    suspect = finding(title=text, caption=text, details={"missing": text}, status=failscape.Status.SUSPECT)
    compared = comparison(text)
    many = ManyCompared((), compared, trend)
    return [finding(title=text, caption=text), suspect, theme(text), answer, compared, many]


@pytest.mark.parametrize("place", range(6))
def test_hostile_names_stay_text(place: int) -> None:
    shown = objects(HOSTILE)[place]
    page = Page(shown._repr_html_())
    assert HOSTILE in page.text


@pytest.mark.parametrize("place", range(6))
def test_endless_names_are_cut(place: int) -> None:
    page = Page(objects('"😀' * 200_000)[place]._repr_html_())
    assert "…" in page.text


def test_a_finding_has_the_rate_of_every_screen(kept: Callable[[str], Path]) -> None:
    atlas = failscape.load(kept("t2i"))
    for found, row in zip(atlas.findings(), atlas.rows(), strict=True):
        text = Page(found._repr_html_()).text
        assert found.title in text
        assert f"{row.failures} of {row.trials} failed" in text


def test_other_objects_are_refused() -> None:
    with pytest.raises(TypeError, match="int"):
        html_of(3)


@pytest.mark.parametrize("kind", ["t2i", "classifier", "vlm"])
def test_an_atlas_shows_its_answer_pictures_and_findings(kind: str, kept: Callable[[str], Path]) -> None:
    atlas = failscape.load(kept(kind))
    answer = atlas.answer()
    page = Page(atlas._repr_html_())
    assert answer.headline in page.text
    assert all(one.sentence in page.text for one in answer.shown)
    assert all(row.short_title in page.text for row in atlas.rows()[:10])
    assert page.pictures
    assert answer.headline in Page(answer._repr_html_()).text


def test_a_run_is_shown_with_hostile_names_and_large_pictures(tmp_path: Path) -> None:
    run = hunt(tmp_path / "a", look)
    page = Page(run._repr_html_())
    assert HOSTILE in page.text, "the model's name is in the headline"
    assert f"Stopped: {run.reason}" in page.text
    assert any("pink" in words for words in page.pictures)


def test_a_run_that_found_nothing_says_so_and_has_all_columns(tmp_path: Path, monkeypatch: Any) -> None:
    run = hunt(tmp_path / "a", pass_all, images=20)
    page = Page(run._repr_html_())
    assert "Nothing is proven to fail after 20 trials" in page.text
    assert not page.pictures
    made = pandas_calls(monkeypatch)
    run.atlas.to_pandas()
    run.atlas.to_pandas("trials")
    assert [(len(rows), columns) for rows, columns in made] == [
        (0, list(FINDING_COLUMNS)),
        (20, list(TRIAL_COLUMNS)),
    ]


def pandas_calls(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[Any], list[str]]]:
    """What is handed to pandas, which need not be installed: rows and columns of each table."""
    import sys
    import types

    made: list[tuple[list[Any], list[str]]] = []

    class DataFrame:
        def __init__(self, rows: list[Any], columns: list[str]) -> None:
            made.append((rows, columns))

        def astype(self, types_of_columns: dict[str, type]) -> DataFrame:
            return self

    stand_in = types.ModuleType("pandas")
    stand_in.DataFrame = DataFrame  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", stand_in)
    return made


def test_an_atlas_that_is_gone_says_so(tmp_path: Path) -> None:
    run = hunt(tmp_path / "a", pass_all, images=20)
    (tmp_path / "a").rename(tmp_path / "b")
    assert str(tmp_path / "a") in Page(run._repr_html_()).text


def test_pieces_that_do_not_fit_are_left_out() -> None:
    piece = Markup("<p>{}</p>").format("x" * 90_000)
    page = Page(bounded([piece] * 3))
    assert page.text.count("x") == 180_000
    assert "left out" in page.text


def test_rows_have_the_documented_columns(kept: Callable[[str], Path]) -> None:
    atlas = failscape.load(kept("t2i"))
    row = atlas.rows()[0].as_data()
    stored = trial_data(next(iter(atlas.trials(limit=1))))
    assert {name: type(value) for name, value in row.items()} == FINDING_COLUMNS
    assert list(row) == list(FINDING_COLUMNS)
    assert list(stored) == list(TRIAL_COLUMNS)
    documented = (ROOT / "docs" / "python.md").read_text(encoding="utf-8")
    for name in (*FINDING_COLUMNS, *TRIAL_COLUMNS):
        assert f"`{name}`" in documented


@pytest.mark.extra("pandas")
@pytest.mark.parametrize("judge", [look, pass_all])
def test_pandas_has_the_same_types_with_and_without_rows(tmp_path: Path, judge: Any) -> None:
    atlas = hunt(tmp_path / "a", judge).atlas
    for what, columns in (("findings", FINDING_COLUMNS), ("trials", TRIAL_COLUMNS)):
        frame = atlas.to_pandas(what)
        assert list(frame.columns) == list(columns)
        letters = {int: "i", float: "f", bool: "b"}
        kinds = {name: frame[name].dtype.kind for name in columns if columns[name] in letters}
        assert kinds == {name: letters[columns[name]] for name in kinds}
    assert bool(len(atlas.to_pandas())) is (judge is look)
    with pytest.raises(ValueError, match="'pictures'"):
        atlas.to_pandas("pictures")


def test_a_picture_is_shown_as_a_small_png() -> None:
    noise = np.random.default_rng(1).integers(0, 256, (900, 700, 3), np.uint8)
    data = failscape.Picture.from_array(noise)._repr_png_()
    assert data is not None
    assert len(data) * 4 / 3 <= MOST_BYTES
    shown = Image.open(io.BytesIO(data))
    assert shown.format == "PNG"
    assert shown.height > shown.width
    small = failscape.Picture.from_array(noise[:20, :30])._repr_png_()
    assert small is not None
    assert Image.open(io.BytesIO(small)).size == (30, 20)


def test_a_picture_that_is_none_is_not_shown() -> None:
    assert failscape.Picture(b"no picture")._repr_png_() is None
