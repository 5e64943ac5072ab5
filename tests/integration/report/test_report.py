"""The report as a whole: built from atlases on disk, read back as a browser would."""

import re

import pytest

from failscape.atlas import Atlas
from failscape.errors import AtlasError, ConfigError
from failscape.models.roles import Identity
from failscape.trials import Answer, Check, Classify, Decide, Generate, Show, Verify
from failscape.views.pages import write_report
from failscape.views.pages.page import TABLE_ROWS
from failscape.views.read import load_hunt
from failscape.views.read.findings import worst_groups
from tests.unit.atlas.suite import damage_picture

from .conftest import HOSTILE, ListedHunt, finding, picture, read, recorded

CHECKS = (Check("entity", "cat", "a cat"), Check("Base: Colour", "red", "red"))


def record_cats(atlas, raw="no", seeds=(1, 2, 3, 4), parent=True):
    hunt = atlas.start_hunt("other", {"hunt": "other", "target": {"model": "painter"}}, {})
    steps = (Generate("a red cat"), Decide(CHECKS))
    group = [recorded("red cat", seed, steps, ["", [True, seed == 3]], raw) for seed in seeds]
    if parent:
        alone = (Generate("a cat"), Decide(CHECKS[:1]))
        group += [recorded("cat", 4 - at, alone, ["", [True]]) for at in range(4)]
    atlas.record(hunt, group)
    return hunt


RED_CAT = finding("red cat", parents=({"subject": "cat", "rate": 0.0, "trials": 4, "failures": 0},))


def test_a_planted_run_becomes_a_page_with_every_finding(planted_atlas, tmp_path):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        loaded = load_hunt(atlas)
        written = write_report(atlas, tmp_path / "report", gallery=5)
    page = read(written)
    assert loaded.findings
    assert written.findings == len(loaded.findings)
    for found in loaded.findings:
        assert found.title in page.text
    assert written.missing == 0
    assert sum(given.get("class") == "card fold" for _, given in page.tags) == min(5, len(loaded.findings))
    assert loaded.curve[-1] == (loaded.trials, len(loaded.findings))
    for source in page.sources("src"):
        assert (written.path.parent / source).is_file()
    assert f"{loaded.trials:,} trials" in page.text


def test_the_page_needs_no_network(planted_atlas, tmp_path):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        page = read(write_report(atlas, tmp_path))
    assert not [one for one in page.sources("src", "href", "srcset") if re.match(r"(https?:)?//", one)]
    assert not [tag for tag, given in page.tags if tag == "script" and given]


def test_a_single_file_refers_to_no_other_file(planted_atlas, tmp_path):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        written = write_report(atlas, tmp_path / "one", single_file=True, gallery=3)
    assert [path.name for path in written.path.parent.iterdir()] == ["index.html"]
    page = read(written)
    assert page.sources("src")
    for source in page.sources("src", "href"):
        assert source.startswith(("data:", "#"))


def test_a_report_inside_the_atlas_links_to_the_originals(empty_atlas):
    record_cats(empty_atlas)
    written = write_report(empty_atlas, build=lambda row: ListedHunt([RED_CAT]))
    assert written.path.parent == empty_atlas.folder / "report"
    links = [one for one in read(written).sources("href") if one.startswith("pictures/")]
    assert len(links) == 8
    for link in links:
        assert (written.path.parent / link).is_file()


def test_parents_are_shown_at_the_seeds_of_the_finding(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([RED_CAT])))
    seeds = [given["alt"].split()[-1] for tag, given in page.tags if tag == "img"]
    assert seeds == ["1", "2", "3", "4"] * 2
    assert "cat ✓ red ✗" in page.text
    assert "red ✗ 3/4" in page.text


def test_a_seed_that_a_parent_lacks_leaves_a_gap(empty_atlas, tmp_path):
    record_cats(empty_atlas, seeds=(9, 3))
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([RED_CAT])))
    seeds = [given["alt"].split()[-1] for tag, given in page.tags if tag == "img"]
    assert seeds == ["3", "9", "3"]
    assert "not tried at this seed" in page.text


def test_hostile_words_stay_words(empty_atlas, tmp_path):
    hunt = empty_atlas.start_hunt("other", {"hunt": "other", "target": {"model": HOSTILE}}, {})
    steps = (Generate(HOSTILE), Decide((Check("entity", HOSTILE, HOSTILE),)), Answer(HOSTILE))
    empty_atlas.record(hunt, [recorded(HOSTILE, 1, steps, ["", [False], HOSTILE], HOSTILE)])
    empty_atlas.log("warning", {"name": "w", "text": HOSTILE, "fix": HOSTILE}, hunt)
    bad = finding(HOSTILE, caption=HOSTILE, parents=({"subject": HOSTILE},))
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([bad])))
    assert sum(tag == "script" for tag, _ in page.tags) == 1
    assert not page.sources("onerror")
    assert "<script>alert('x')</script>" in page.text
    assert "{{ 7 * 7 }}" in page.text


def test_words_that_are_no_unicode_do_not_stop_it(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    odd = finding("red cat", title="half a pair \ud800")
    assert (
        "half a pair" in read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([odd]))).text
    )


def test_thousands_of_findings_give_a_bounded_page(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    many = [
        finding("red cat", title=f"finding number {at} with a title of some length") for at in range(10_000)
    ]
    written = write_report(empty_atlas, tmp_path, gallery=60, build=lambda row: ListedHunt(many))
    page = read(written)
    assert written.path.stat().st_size < 3_000_000
    assert f"first {TABLE_ROWS:,} of 10,000 findings" in page.text
    assert "--json" in page.text
    assert written.pictured == 60


def test_missing_and_broken_pictures_are_counted_and_shown_as_gaps(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    for number in (1, 2):
        damage_picture(empty_atlas, picture(number).digest)
    written = write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([RED_CAT]))
    assert (written.images, written.missing) == (2, 2)
    page = read(written)
    assert page.text.count("picture not kept") == 4
    assert "2 pictures have no readable file" in page.text


def test_a_classifier_hunt_needs_no_special_case(empty_atlas, tmp_path):
    hunt = empty_atlas.start_hunt(
        "classifier", {"hunt": "classifier", "target": {"path": "models/eyes.onnx"}}, {}
    )
    steps = (
        Generate("a penguin on grass"),
        Decide((Check("entity", "penguin", "", gate=True),)),
        Classify(("penguin",)),
    )
    empty_atlas.record(hunt, [recorded("grass", n, steps, ["", [True], [["turkey", 0.8]]]) for n in range(3)])
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([finding("grass")])))
    assert "penguin ✓ called turkey ✗" in page.text
    assert "1 failure found." in page.text


def test_a_vlm_hunt_needs_no_special_case(empty_atlas, tmp_path):
    hunt = empty_atlas.start_hunt("vlm", {"hunt": "vlm"}, {})
    empty_atlas.keep_pictures([picture(1), picture(2)])
    first, second = (picture(n).digest for n in (1, 2))
    steps = (Show((first, second)), Answer("Which has more cats?"), Verify("the left one"))
    facts = [[first, second], "the right one", [True, False, "the left has three"]]
    empty_atlas.record(hunt, [recorded("counting", 5, steps, facts)])
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([finding("counting")])))
    assert len(page.sources("src")) == 2
    for words in ("Which has more cats?", "the right one", "the left one", "wrong answer ✗"):
        assert words in page.text


def test_a_hunt_without_findings_says_so(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([])))
    assert "failed in painter; nothing is proven yet" in page.text
    assert "What to change" in page.text


def test_a_run_that_proves_nothing_leads_with_the_worst_it_saw(planted_atlas, tmp_path):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        worst = worst_groups(load_hunt(atlas), 1)[0]
        page = read(write_report(atlas, tmp_path, build=lambda row: ListedHunt([])))
    assert "Worst so far" in page.text
    assert worst.name in page.text.partition("Worst so far")[2].partition("What to change")[0]


def test_suspects_stand_below_the_findings_with_what_is_missing(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    hunt = ListedHunt([])
    eye = finding("eye", status="suspect", details={"missing": "about 30 more pictures of eye"})
    hunt.suspects = lambda: [eye]
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: hunt))
    assert "1 more look failing" in page.text
    assert "about 30 more pictures of eye" in page.text
    assert "suspects" in {given.get("id") for _, given in page.tags}


def test_passwords_in_addresses_are_not_shown(empty_atlas, tmp_path):
    config = {"target": {"endpoints": ["http://me:hunter2@host/v1"]}}
    hunt = empty_atlas.start_hunt("other", config, {})
    empty_atlas.record(hunt, [recorded("x", 1, (Decide(CHECKS[:1]),), [[True]])])
    text = write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([])).path.read_text()
    assert "hunter2" not in text
    assert "host/v1" in text


def test_an_atlas_without_hunts_or_trials_is_explained(empty_atlas):
    with pytest.raises(AtlasError, match="no hunts yet"):
        write_report(empty_atlas)
    empty_atlas.start_hunt("t2i", {"hunt": "t2i"}, {})
    with pytest.raises(AtlasError, match="no trials yet"):
        write_report(empty_atlas)
    with pytest.raises(AtlasError, match=r"no hunt 7[\s\S]*1 \(t2i\)"):
        write_report(empty_atlas, hunt_id=7)


def test_the_hunt_with_the_latest_trial_is_chosen(empty_atlas):
    older, newer = record_cats(empty_atlas), empty_atlas.start_hunt("other", {}, {})
    build = lambda row: ListedHunt([])  # noqa: E731
    assert load_hunt(empty_atlas, build=build).row.id == older
    with pytest.raises(AtlasError, match="no trials yet"):
        load_hunt(empty_atlas, newer, build)
    steps = (Decide(CHECKS[:1]),)
    empty_atlas.record(newer, [recorded("x", 1, steps, [[True]])])
    assert load_hunt(empty_atlas, build=build).row.id == newer
    empty_atlas.record(older, [recorded("x", 1, steps, [[True]])])
    assert load_hunt(empty_atlas, build=build).row.id == older


def test_captions_are_the_prompts_that_were_sent(empty_atlas):
    record_cats(empty_atlas)
    found = [finding("red cat", caption="worded otherwise today"), finding("never tried", caption="as is")]
    loaded = load_hunt(empty_atlas, build=lambda row: ListedHunt(found))
    assert [one.caption for one in loaded.findings] == ["a red cat", "as is"]


def test_many_prompts_of_one_subject_leave_the_hunts_own_words(empty_atlas):
    hunt = empty_atlas.start_hunt("other", {}, {})
    group = [recorded("grass", n, (Generate(f"a penguin, take {n}"),), [""]) for n in range(2)]
    empty_atlas.record(hunt, group)
    loaded = load_hunt(empty_atlas, build=lambda row: ListedHunt([finding("grass", caption="on grass")]))
    assert loaded.findings[0].caption == "on grass"


def test_undecided_subjects_are_counted(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    hunt = ListedHunt([])
    page = read(write_report(empty_atlas, tmp_path / "none", build=lambda row: hunt))
    assert "without a verdict" not in page.text
    hunt.undecided = lambda: ["a", "b"]
    page = read(write_report(empty_atlas, tmp_path / "some", build=lambda row: hunt))
    assert "2 subjects used up their trials without a verdict" in page.text


def test_a_corpus_that_has_changed_is_said(empty_atlas, tmp_path):
    space = {"space": Identity("space", "corpus", "starter", {"digest": "0" * 32})}
    hunt = empty_atlas.start_hunt("t2i", {"space": {"corpus": "starter"}}, space)
    empty_atlas.record(hunt, [recorded("cat", 1, (Decide(CHECKS[:1]),), [[True]])])
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([])))
    assert "corpus starter is not what it was" in page.text

    def build(row):
        raise ConfigError("no such entity")

    with pytest.raises(AtlasError, match=r"corpus starter is not what it was[\s\S]*no such entity"):
        load_hunt(empty_atlas, build=build)


def test_a_folder_that_cannot_be_written_is_explained(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(AtlasError, match="file"):
        write_report(empty_atlas, tmp_path / "file", build=lambda row: ListedHunt([]))


def test_thumbnails_of_an_earlier_report_are_used_again(empty_atlas, tmp_path, monkeypatch):
    record_cats(empty_atlas)
    build = lambda row: ListedHunt([RED_CAT])  # noqa: E731
    write_report(empty_atlas, tmp_path, build=build)
    assert len(list((tmp_path / "thumbs").iterdir())) == 4
    monkeypatch.setattr("failscape.atlas.images.Image.Image.thumbnail", None)  # nothing is shrunk again
    written = write_report(empty_atlas, tmp_path, build=build)
    assert (written.images, written.missing) == (4, 0)


def test_a_report_inside_the_atlas_has_the_pictures_in_full(empty_atlas):
    record_cats(empty_atlas)
    write_report(empty_atlas, build=lambda row: ListedHunt([RED_CAT]))
    files = list((empty_atlas.folder / "report" / "pictures").iterdir())
    assert len(files) == 4
    assert all(path.read_bytes() == empty_atlas.images.get(path.stem).data for path in files)
    write_report(empty_atlas, build=lambda row: ListedHunt([]))
    assert not list((empty_atlas.folder / "report" / "pictures").iterdir())


def test_files_of_others_stay(empty_atlas, tmp_path):
    record_cats(empty_atlas)
    (tmp_path / "thumbs").mkdir()
    for name in ("cat.webp", "0" * 32 + ".webp", "me.thumb.webp"):
        (tmp_path / "thumbs" / name).write_text("mine")
    for _ in range(2):
        write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([RED_CAT]))
    write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([]))
    left = sorted(path.name for path in (tmp_path / "thumbs").iterdir())
    assert left == ["0" * 32 + ".webp", "cat.webp", "me.thumb.webp"]


def test_a_new_report_replaces_the_old_one(planted_atlas, tmp_path):
    with Atlas.open(planted_atlas, readonly=True) as atlas:
        write_report(atlas, tmp_path, gallery=4)
        before = {path.name for path in (tmp_path / "thumbs").iterdir()}
        written = write_report(atlas, tmp_path, gallery=1)
    after = {path.name for path in (tmp_path / "thumbs").iterdir()}
    assert after < before
    assert {source.split("/")[-1] for source in read(written).sources("src")} == after
