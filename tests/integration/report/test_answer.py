"""The answer of a hunt: one text, the same in the terminal, the viewer, the report and Python."""

import io

from rich.console import Console

from failscape.cli.answer import print_answer
from failscape.trials import Check, Decide, Finding, Generate
from failscape.views.pages import write_report
from failscape.views.read import load_hunt
from failscape.views.read.answer import answer_of

from .conftest import ListedHunt, finding, read, recorded

COLOURS = ("red", "green", "blue")
THINGS = ("cat", "dog", "owl", "cow", "car")
STEPS = (Generate("a thing"), Decide((Check("entity", "thing", "it is there"),)))


def subject(thing: str, colour: str) -> str:
    return f"{thing}; Base: Colour={colour}"


def paint(atlas, failing: set[str]) -> list[Finding]:
    """Every thing in every colour, three pictures each; the subjects in `failing` are findings."""
    hunt = atlas.start_hunt("other", {"hunt": "other", "target": {"model": "painter"}}, {})
    subjects = [subject(thing, colour) for thing in THINGS for colour in COLOURS]
    atlas.record(
        hunt,
        [
            recorded(one, 10 * at + seed, STEPS, ["", [one not in failing]])
            for at, one in enumerate(subjects)
            for seed in range(3)
        ],
    )
    return [finding(one) for one in subjects if one in failing]


def printed(atlas, found: list[Finding], width: int) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None)
    print_answer(load_hunt(atlas, build=lambda row: ListedHunt(found)), console)
    return console.file.getvalue()


def test_a_colour_that_fails_with_everything_is_the_answer(empty_atlas):
    found = paint(empty_atlas, {subject(thing, "green") for thing in THINGS})
    answer = answer_of(load_hunt(empty_atlas, build=lambda row: ListedHunt(found)))
    assert answer.headline == (
        "painter fails at 33% (20–49%) of the 45 valid trials that the search drew. "
        "5 failures found; one theme explains 100% of them."
    )
    (theme,) = answer.themes
    assert theme.sentence == (
        "Anything with green: seen in all 5 of 5, not tested as a group; "
        "75% (51–91%) of 20 trials fail; explains 5 of 5 findings"
    )
    assert answer.alone == ()


def test_exceptions_and_findings_of_their_own_are_told(empty_atlas):
    found = paint(empty_atlas, {subject(thing, "green") for thing in THINGS[1:]} | {subject("cat", "red")})
    answer = answer_of(load_hunt(empty_atlas, build=lambda row: ListedHunt(found)))
    (theme,) = answer.themes
    assert theme.sentence == (
        "Anything with green: seen in 4 of 5 tried, not tested as a group; "
        "63% (38–84%) of 19 trials fail; explains 4 of 5 findings; works: cat with green"
    )
    assert theme.exceptions == ("cat with green",)
    assert [found[number - 1].subject for number in answer.alone] == [subject("cat", "red")]


def test_the_terminal_and_the_page_say_the_same(empty_atlas, tmp_path):
    found = paint(empty_atlas, {subject(thing, "green") for thing in THINGS})
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt(found)))
    for line in printed(empty_atlas, found, 300).splitlines():
        assert line.strip().removeprefix("1. ") in page.text


def test_no_line_is_longer_than_the_terminal(empty_atlas):
    found = paint(empty_atlas, {subject(thing, "green") for thing in THINGS})
    for width in (40, 80, 120):
        assert all(len(line) <= width for line in printed(empty_atlas, found, width).splitlines())


def test_nothing_found_is_said_and_nothing_is_invented(empty_atlas):
    paint(empty_atlas, set())
    answer = answer_of(load_hunt(empty_atlas, build=lambda row: ListedHunt([])))
    assert answer.headline == (
        "painter fails at 0% (0–7.9%) of the 45 valid trials that the search drew. "
        "Nothing is proven to fail after 45 trials."
    )
    assert answer.themes == ()


def test_values_that_fail_alike_are_one_theme(empty_atlas):
    found = paint(empty_atlas, {subject(thing, colour) for thing in THINGS for colour in COLOURS[:2]})
    answer = answer_of(load_hunt(empty_atlas, build=lambda row: ListedHunt(found)))
    (theme,) = answer.themes
    assert theme.title == "anything with green or red"
    assert (len(theme.findings), theme.tried) == (10, 10)


def test_what_failed_as_often_as_not_is_counted_and_claimed_by_nobody(empty_atlas):
    failing = {subject(thing, "green") for thing in THINGS}
    found = paint(empty_atlas, failing)[1:]
    answer = answer_of(load_hunt(empty_atlas, build=lambda row: ListedHunt(found)))
    (theme,) = answer.themes
    assert theme.open == 1
    assert theme.sentence.startswith("Anything with green: seen in 4 of 5 tried, not tested as a group")


def test_that_nearly_all_fails_is_said_before_any_cause(empty_atlas):
    failing = {subject(thing, colour) for thing in THINGS for colour in COLOURS} - {subject("cat", "red")}
    found = paint(empty_atlas, failing)
    answer = answer_of(load_hunt(empty_atlas, build=lambda row: ListedHunt(found)))
    first, aside, *_ = answer.headline.split(". ")
    assert first == "painter fails at 93% (82–99%) of the 45 valid trials that the search drew"
    assert aside == "Failing is the rule here: the list below shows where it is worst"
