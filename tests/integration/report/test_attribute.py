"""`failscape attribute`, as a user calls it, on a real small run."""

import json
import math

import pytest
from click.testing import CliRunner

from failscape.atlas import Atlas
from failscape.cli import attribute, cli
from failscape.errors import ConfigError, FailscapeError
from failscape.toybox import painter
from failscape.trials import Check, Decide
from failscape.views.attribution.counts import MentionCounts, counts_of
from failscape.views.attribution.scarcity import relate
from failscape.views.read import load_hunt

from .conftest import HOSTILE, ListedHunt, Page, finding, recorded


def run(*arguments):
    return CliRunner().invoke(cli, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def rates(planted_atlas):
    """Subject → share of its valid trials that failed."""
    from failscape.trials import Verdict

    with Atlas.open(planted_atlas, readonly=True) as atlas:
        counted = dict(atlas.subject_counts(load_hunt(atlas).row.id))
    return {
        name: n[Verdict.FAIL] / (n[Verdict.FAIL] + n[Verdict.PASS])
        for name, n in counted.items()
        if n[Verdict.FAIL] + n[Verdict.PASS]
    }


@pytest.fixture
def scarce(rates, tmp_path):
    """Counts in which whatever failed is rare."""
    path = tmp_path / "counts.json"
    numbers = {name: int(1000 * math.exp(-6 * rate)) + at for at, (name, rate) in enumerate(rates.items())}
    path.write_text(json.dumps(numbers))
    return path


def test_text_says_what_was_found_and_where_the_page_is(planted_atlas, scarce, tmp_path):
    result = run("attribute", planted_atlas, "--counts", scarce, "-o", tmp_path / "out" / "page.html")
    assert result.exit_code == 0, result.output
    assert "Failure follows scarcity" in result.stdout
    assert "Rare yet passing" in result.stdout
    assert result.stdout.splitlines()[-1] == str(tmp_path / "out" / "page.html")
    page = Page((tmp_path / "out" / "page.html").read_text())
    assert "Frequent yet failing" in page.text
    assert not [one for one in page.sources("src", "href") if "//" in one]


def test_json_has_all_subjects_and_equals_a_plain_join(planted_atlas, scarce, rates):
    result = run("attribute", planted_atlas, "--counts", scarce, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    numbers = json.loads(scarce.read_text())
    assert {one["subject"]: one["count"] for one in data["subjects"]} == {
        name: numbers[name] for name in rates
    }
    for one in data["subjects"]:
        assert one["failures"] / one["trials"] == rates[one["subject"]]
    assert data["relations"][0]["rho"] < -0.5
    assert not (planted_atlas / "report" / "attribution.html").exists()


def test_captions_are_counted_with_the_hunts_corpus(planted_atlas, rates, tmp_path):
    alone = [name for name in rates if "; " not in name]
    often, never = alone[0], alone[-1]
    path = tmp_path / "captions.txt"
    path.write_text(f"a photo of a {often.upper()}\n" * 7 + "nothing at all\n")
    result = run("attribute", planted_atlas, "--captions", path, "--json")
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    counts = {one["subject"]: one["count"] for one in data["subjects"]}
    assert (counts[often], counts[never], data["captions"]) == (7, 0, 8)


def test_counts_of_something_else_are_refused(planted_atlas, tmp_path):
    (tmp_path / "c.csv").write_text("subject,count\nunheard of,3\n")
    result = run("attribute", planted_atlas, "--counts", tmp_path / "c.csv")
    assert isinstance(result.exception, ConfigError)
    assert "none of them was tried" in str(result.exception)
    assert "such as" in result.exception.fix


def test_exactly_one_source_is_needed(planted_atlas, scarce):
    for more in ((), ("--counts", scarce, "--captions", scarce)):
        result = run("attribute", planted_atlas, *more)
        assert isinstance(result.exception, FailscapeError)
        assert "either --counts" in str(result.exception)


def test_the_toybox_counts_are_known_by_name(monkeypatch, empty_atlas):
    monkeypatch.setattr(painter, "training_counts", lambda: {"cow": 5, "cow + place=beach + colour=red": 2})
    hunt = empty_atlas.start_hunt("other", {}, {})
    names = ["cow", "cow; Base: colour=red; Background: place=beach", "cow; A: a=a; B: b=b; C: c=c"]
    check = (Decide((Check("entity", "cow", "a cow"),)),)
    empty_atlas.record(hunt, [recorded(name, 1, check, [[True]]) for name in names])
    loaded = load_hunt(empty_atlas, build=lambda row: ListedHunt([]))
    related = relate(loaded, attribute.toybox_counts())
    assert sorted(one.count for one in related.subjects) == [2, 5]
    assert related.uncounted == 1


def test_invalid_trials_and_unknown_subjects(empty_atlas, tmp_path):
    hunt = empty_atlas.start_hunt("other", {}, {})
    check = (Decide((Check("entity", "cow", "a cow"),)),)
    group = [recorded(name, n, check, [[n > 2]]) for name in (HOSTILE, "dog") for n in range(4)]
    group.append(recorded("silent", 9, check, [[None]]))
    empty_atlas.record(hunt, group)
    loaded = load_hunt(empty_atlas, build=lambda row: ListedHunt([finding(HOSTILE)]))
    related = relate(loaded, counts_of([(HOSTILE, 9)], "counts"))
    assert {one.subject: one.count for one in related.subjects} == {HOSTILE: 9, "dog": 0}
    assert related.untried == 1
    with pytest.raises(ConfigError, match="none of them was tried"):
        relate(loaded, MentionCounts("counts", {"other": 1}, 0))
