"""Text forms of subjects, keys, purposes and statuses; what a trial missed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.errors import ConfigError
from failscape.search.hunt_results import HuntResults, from_bytes, to_bytes
from failscape.trials import (
    Answer,
    Check,
    Classify,
    Decide,
    Finding,
    Generate,
    Missed,
    MissedHow,
    ProbeKey,
    Progress,
    Purpose,
    Purposes,
    Status,
    Subject,
    SubjectForm,
    SubjectValue,
    Verdict,
    Verify,
    left_out_in_sql,
    missed_by,
    next_unused_key,
    parse_label,
    reach_verdict,
    seed_from_text,
    steps_to_json,
    subject_of_key,
    thing_text,
    verdict_steps_from_json,
    without_question_separators,
    without_separators,
)

#: Names with separators in them, alone and together.
ODD = st.text(st.sampled_from("ab;= |,#:\n0é"), max_size=8)
VALUES = st.lists(st.builds(SubjectValue, ODD, ODD), max_size=3).map(tuple)
SKILLS = st.lists(ODD, max_size=3).map(tuple)


@given(st.text(st.sampled_from("ab;= |,#:\n0é")))
def test_every_text_of_a_thing_reads_and_writes_as_itself(text: str) -> None:
    assert Subject.parse(text).text == text


@given(ODD, VALUES)
def test_a_thing_is_read_as_it_was_written_or_refused(name: str, values: tuple[SubjectValue, ...]) -> None:
    subject = Subject(name, values)
    try:
        text = subject.text
    except ConfigError:
        parts = [name, *(part for value in values for part in value)]
        assert any("; " in part or "=" in part for part in parts) or any(not kind for kind, _ in values)
    else:
        assert Subject.parse(text) == subject


@given(ODD, SKILLS, VALUES)
def test_a_question_is_read_as_it_was_written_or_refused(
    name: str, skills: tuple[str, ...], values: tuple[SubjectValue, ...]
) -> None:
    subject = Subject(name, values, skills, SubjectForm.QUESTION)
    try:
        text = subject.text
    except ConfigError:
        return
    assert Subject.parse(text, SubjectForm.QUESTION) == subject


PLAIN = st.text(st.sampled_from("ab é:/"), min_size=1, max_size=8).map(str.strip).filter(bool)


@given(PLAIN, st.lists(PLAIN, max_size=3), st.lists(st.tuples(PLAIN, PLAIN), max_size=3))
def test_ordinary_names_are_never_refused(name: str, skills: list[str], pairs: list[tuple[str, str]]) -> None:
    values = tuple(SubjectValue(*pair) for pair in pairs)
    assert Subject.parse(Subject(name, values).text) == Subject(name, values)
    question = Subject(name, values, tuple(skills), SubjectForm.QUESTION)
    assert Subject.parse(question.text, SubjectForm.QUESTION) == question


def test_texts_of_earlier_versions() -> None:
    cat = Subject.parse("cat; Base: Colour=red; Background: Place=beach")
    assert (cat.name, cat.kinds) == ("cat", ("Base: Colour", "Background: Place"))
    assert [one.text for one in cat.parents()] == ["cat; Background: Place=beach", "cat; Base: Colour=red"]
    assert [one.text for one in cat.ancestors()] == [
        "cat; Base: Colour=red",
        "cat; Background: Place=beach",
        "cat",
    ]
    question = Subject.parse("count |  | colour=red; size=small", SubjectForm.QUESTION)
    assert question.values == (("colour", "red"), ("size", "small"))
    assert question.text == "count |  | colour=red; size=small"
    assert Subject.parse("any | counting, colour", SubjectForm.QUESTION).skills == ("counting", "colour")
    assert Subject.parse("arithmetic; sum of two").values == (("", "sum of two"),)


@pytest.mark.parametrize("values", [[("Base: Colour", "a; b")], [("Col=our", "red")], [("", "x=y")]])
def test_a_name_with_a_separator_is_refused(values: list[tuple[str, str]]) -> None:
    with pytest.raises(ConfigError, match="separator"):
        _ = Subject("cat", tuple(SubjectValue(*one) for one in values)).text


@given(ODD)
def test_free_text_is_made_fit_for_a_subject(text: str) -> None:
    plain = without_separators(text)
    key = ProbeKey(thing_text(plain, [f"Said={plain}"]), "p", 3)
    assert Subject.parse(key.subject) == Subject(plain, (SubjectValue("Said", plain),))
    assert ProbeKey.parse(key.text) == key
    skill = without_question_separators(text)
    if skill:
        question = Subject("count", (SubjectValue(skill, skill),), (skill,), SubjectForm.QUESTION)
        assert Subject.parse(question.text, SubjectForm.QUESTION) == question


def test_a_subject_holds_what_is_less_narrow() -> None:
    red = Subject.parse("cat; Base: Colour=red")
    assert red.holds(Subject.parse("cat"))
    assert not Subject.parse("cat").holds(red)
    assert not Subject.parse("dog; Base: Colour=red").holds(red)


@given(ODD)
def test_labels_read_and_write_as_themselves(label: str) -> None:
    assert parse_label(label).label == label


KEYS = st.builds(
    ProbeKey,
    st.text(st.sampled_from("ab;= |,#:\n0é")),
    st.sampled_from(["", "p", "r", "?", "f"]),
    st.integers(0, 5000),
    st.sampled_from(["", ".0", ">", "~", ".0123abcd", "!!"]),
)


@given(KEYS)
def test_a_key_is_read_as_it_was_written(key: ProbeKey) -> None:
    assert ProbeKey.parse(key.text) == key
    assert Purpose("", key.letter).is_of(key.text)
    assert not Purpose("", "other").is_of(key.text)
    assert subject_of_key(key.text) == key.subject


@given(st.text(st.sampled_from("ab#0123p?. "), max_size=12))
def test_every_stored_key_writes_as_itself(text: str) -> None:
    key = ProbeKey.parse(text)
    assert (key.text if key else text) == text
    assert Purpose("", key.letter if key else "").is_of(text) == (key is not None)


def test_keys_of_earlier_versions() -> None:
    assert ProbeKey.parse("cat; Base: Colour=red#p3") == ("cat; Base: Colour=red", "p", 3, "")
    assert ProbeKey.parse("cat#12") == ("cat", "", 12, "")
    assert ProbeKey.parse("cat#?f3") == ("cat", "?", None, "f3")
    assert ProbeKey.parse("c# code#r1003.2") == ("c# code", "r", 1003, ".2")
    assert ProbeKey.parse("q3.2>~") is None
    assert not Purpose("search", "").is_of("q3.2>~")
    assert not Purpose("told by the hunt").is_of("q3.2>~")


@given(st.sets(st.integers(0, 9)), st.integers(0, 9))
def test_the_next_unused_key_is_the_first_free_one(taken: set[int], start: int) -> None:
    known = {ProbeKey("cat", "r", number).text for number in taken}
    free = next(number for number in range(start, 99) if number not in taken)
    assert next_unused_key(f"cat#r{start}", known) == f"cat#r{free}"
    assert next_unused_key("0.9", {"0.9", "0.10"}) == "0.11"


def test_purposes_are_found_by_letter_and_name() -> None:
    search = Purpose("evidence", "")
    sample = Purpose("random sample", "p", follows_search=False, sample_name="random sample")
    audit = Purpose("audit")
    purposes = Purposes(search, sample, audit)
    assert list(purposes) == [search, sample, audit]
    assert purposes.of_letter("p") is purposes.of_key("cat#p3") is sample
    assert purposes.of_letter("z") is purposes.of_key("cat#z3") is search
    assert purposes.of_key("cat#12") is purposes.of_key("q3.2>~") is search
    assert purposes.named("audit") is audit
    assert purposes.named("other") == Purpose("other")
    assert left_out_in_sql([search, audit]) == ("", ())
    assert left_out_in_sql(purposes)[1] == ("p",)
    assert sample.samples_space
    assert not search.samples_space
    assert Purposes().of_letter("p").name == ""
    with pytest.raises(ValueError, match="letter of its own"):
        Purposes(sample, sample)


def test_subjects_are_told_in_words() -> None:
    assert Subject.parse("cat; Base: Colour=red; night").words == "cat · red · night"
    question = Subject.parse("count | counting, colour | size=small", SubjectForm.QUESTION)
    assert question.words == "count · counting · colour · small"


def test_statuses_say_what_they_are() -> None:
    assert Status.words() == ["certified", "listed", "conditional", "threshold", "suspect"]
    assert [one.rank for one in Status] == list(range(len(Status)))
    assert [one for one in Status if not one.is_claimed] == [Status.SUSPECT]
    assert all(one.sentence and one.look for one in Status)
    assert Status.CERTIFIED.guarantee(1, "picture") == "is certified at the run’s error level."
    assert Status.CERTIFIED.guarantee(2, "picture", "5%") == (
        "are certified: of all that is certified, at most 5% is expected to be false."
    )
    assert Status.LISTED.guarantee(2, "question").endswith("what all questions say.")


def finding(status: str) -> Finding:
    return Finding("cat", "cat", "a cat", status, 0.5, (0.1, 0.9), 3.0, 4, 2)  # type: ignore[arg-type]


def test_a_finding_takes_the_word_of_a_status() -> None:
    assert finding("certified").status is Status.CERTIFIED
    with pytest.raises(ValueError, match="probably"):
        finding("probably")


def test_what_was_kept_comes_back_with_its_status() -> None:
    told = HuntResults([finding("listed")], [finding("suspect")], Progress("search", 1, 2, 1), [(1, 1)])
    back = from_bytes(to_bytes(told))
    assert back == told
    assert back.suspects[0].status is Status.SUSPECT


CAT = Check("entity", "cat", "It is a cat.")
RED = Check("Base: Colour", "red", "It is red.")
GATE = Check("entity", "cat", "A cat is there.", gate=True)
NOTE = Check("Base: Size", "small", "It is small.", note=True)


@pytest.mark.parametrize(
    ("facts", "missed"),
    [
        ([True, True], ()),
        ([False, False], (Missed("judge", "entity", "cat"), Missed("judge", "Base: Colour", "red"))),
        ([False, None], (Missed("judge", "Base: Colour", "red", how=MissedHow.UNDECIDED),)),
    ],
)
def test_checks_that_were_missed(facts: list[bool | None], missed: tuple[Missed, ...]) -> None:
    assert missed_by((Generate("a red cat"), Decide((CAT, RED, NOTE))), ["digest", [*facts, False]]) == missed


def test_a_label_that_was_missed() -> None:
    steps = (Generate("a cat"), Decide((GATE,)), Classify(("cat", "kitty")))
    ranking = [["dog", 0.9], ["cat", 0.1]]
    assert missed_by(steps, ["digest", [True], ranking]) == (Missed("classifier", "label", "cat", "dog"),)
    (missed,) = missed_by(steps, ["digest", [False]])
    assert missed.how is MissedHow.NOT_SHOWN


def test_what_was_missed_follows_from_tests_alone() -> None:
    steps = (
        Generate("a cat"),
        Decide((GATE, RED, NOTE)),
        Classify(("cat",)),
        Answer("how many?"),
        Verify("3"),
    )
    for checks in ([True, False, True], [False, True, None], [True, None, True]):
        facts = ["digest", checks, [["dog", 0.9]], "4", [True, False, "no"]]
        assert missed_by(verdict_steps_from_json(steps_to_json(steps)), facts) == missed_by(steps, facts)


def test_an_answer_that_was_missed() -> None:
    steps = (Answer("how many?"), Verify("3"))
    (missed,) = missed_by(steps, ["4", [True, False, "there are three"]])
    assert (missed.check, missed.expected, missed.seen, missed.said) == (
        "answer",
        "3",
        "4",
        "there are three",
    )
    assert missed_by(steps, ["3", [True, True, ""]]) == ()
    (missed,) = missed_by(steps, ["4", [False, False, "no such thing"]])
    assert missed.how is MissedHow.NO_QUESTION


@given(st.lists(st.sampled_from([True, False, None]), min_size=3, max_size=3))
def test_a_verdict_follows_from_what_was_missed(facts: list[bool | None]) -> None:
    steps = (Decide((GATE, CAT, RED)),)
    missed = missed_by(steps, [facts])
    verdict, reason = reach_verdict(steps, [facts])
    assert verdict is (missed[0].how.verdict if missed else Verdict.PASS)
    assert bool(reason) == bool(missed)


def test_seeds_have_31_bits_and_never_change() -> None:
    assert seed_from_text("7/3") == seed_from_text("7/3") < 2**31
    assert (seed_from_text("0/0"), seed_from_text("compare|cat|0")) == (1735201683, 1678675748)
