"""What plainly fails in the recorded trials is told by every screen, even if the search found nothing."""

import io

import pytest
from rich.console import Console

from failscape.cli.findings import print_nothing_found, print_seen
from failscape.trials import Check, Decide, Generate
from failscape.views.pages import write_report
from failscape.views.read import load_hunt
from failscape.views.read.answer import answer_of
from failscape.views.read.findings import suggestions
from failscape.views.viewer.screens.overview import _answer

from .conftest import ListedHunt, finding, read, recorded

STEPS = (Generate("a thing"), Decide((Check("entity", "thing", "it is there"),)))

#: Kind → settings, subjects with their failures of 25 trials, and what is then said.
CASES = {
    "classifier": (
        {"search": {"margin": 0.05, "fdr": 0.05}},
        {"hen": 1, "hen; Image: style=pencil sketch": 17, "hen; Image: style=oil": 2, "cow": 1},
        "hen: pencil sketch (17 of 25)",
    ),
    "t2i": (
        {"search": {"threshold": 0.8, "fdr": 0.05}},
        {
            f"{thing}; Base: Colour={colour}": (15 if thing == "owl" else 1)
            for thing in ("owl", "cat", "dog")
            for colour in ("red", "green", "blue")
        },
        "owl (45 of 75)",
    ),
    "vlm": (
        {"confirm": {"margin": 0.2, "fdr": 0.05}},
        {"count | counting | size=small": 15, "count | counting | size=large": 1, "colour | colour": 0},
        "small",
    ),
}


def play(atlas, kind):
    settings, failures, told = CASES[kind]
    hunt = atlas.start_hunt(kind, {"hunt": kind, "target": {"model": "it"}, **settings}, {})
    trials = [
        recorded(subject, 100 * at + seed, STEPS, ["", [seed >= fails]])
        for at, (subject, fails) in enumerate(failures.items())
        for seed in range(25)
    ]
    atlas.record(hunt, trials)
    return told


def load(atlas, found=()):
    return load_hunt(atlas, build=lambda row: ListedHunt(list(found)))


def screen(write, hunt):
    console = Console(width=200, file=io.StringIO(), color_system=None)
    write(hunt, console)
    return console.file.getvalue()


@pytest.mark.parametrize("kind", CASES)
def test_what_plainly_fails_is_told_everywhere(kind, empty_atlas, tmp_path):
    told = play(empty_atlas, kind)
    hunt = load(empty_atlas)
    assert told in hunt.seen[0].sentence
    assert "1 pattern plainly fails and is not tested" in answer_of(hunt).headline
    assert told in answer_of(hunt).headline
    assert told in screen(print_seen, hunt)
    assert "little fails" not in screen(print_nothing_found, hunt)
    assert any("not tested" in line for line in suggestions(hunt))
    page = read(write_report(empty_atlas, tmp_path, build=lambda row: ListedHunt([])))
    assert "Seen, not tested" in page.text
    assert hunt.seen[0].title in page.text
    assert _answer(hunt)["seen"][0]["title"] == hunt.seen[0].title


def test_what_a_finding_explains_is_not_told_again(empty_atlas):
    play(empty_atlas, "classifier")
    assert load(empty_atlas, [finding("hen; Image: style=pencil sketch")]).seen == ()


def test_failures_that_are_excused_are_not_seen(empty_atlas):
    play(empty_atlas, "classifier")

    class ExcusingHunt(ListedHunt):
        def excused(self):
            return self.told

    assert load_hunt(empty_atlas, build=lambda row: ExcusingHunt([])).seen == ()


def test_second_questions_to_a_judge_are_no_failures_of_the_target(empty_atlas):
    hunt = empty_atlas.start_hunt("classifier", {"hunt": "classifier", **CASES["classifier"][0]}, {})
    looks = [recorded("hen", seed, STEPS, ["", [True]]) for seed in range(25)]
    looks += [recorded("hen", seed, STEPS, ["", [False]], letter="?b") for seed in range(25)]
    looks += [recorded("hen; Image: style=oil", seed, STEPS, ["", [False]], letter="?") for seed in range(25)]
    empty_atlas.record(hunt, looks)
    assert load(empty_atlas).seen == ()
