"""How stored words of verifiers are read again: one text of two replies, panels, comparisons."""

from __future__ import annotations

import pytest

from failscape.again.reread import ASKED_AS, ReplyReader, readers_of
from failscape.atlas import HuntRow
from failscape.errors import AtlasError
from failscape.models.contracts.asking import replies_as_text
from failscape.models.roles import Identity
from failscape.trials import Answer, Show, Step, Verify

VALID, NOT_VALID = '{"reason": "clear", "valid": true}', '{"reason": "two questions", "valid": false}'
RIGHT, WRONG = '{"reason": "it is", "right": true}', '{"reason": "it is red", "right": false}'
SPOKEN = Identity("verifier", "openai", "m", {"contract": "verify/1"})
STEPS: tuple[Step, ...] = (Show(("d",)), Answer("Which colour?"), Verify())
FACTS = [["d"], "It isn't red, it is blue."]


def reader(identity: Identity) -> ReplyReader:
    row = HuntRow(1, "vlm", {}, {"verifier": identity}, (0, 1), None, 0.0)
    return readers_of(row)["verifier"]


def read(identity: Identity, raw: str, truth: str = "") -> tuple[bool | None, bool | None] | str | None:
    """(valid, right), why there is nothing, or `None` when no reply ever came."""
    found = reader(identity).read(Verify(truth), raw, STEPS, FACTS)
    if found is None:
        return None
    return found.invalid if found.value is None else (found.value.valid, found.value.right)


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        (f"{VALID}\n{RIGHT}", (True, True)),
        (f"{VALID}\n{WRONG}", (True, False)),
        (NOT_VALID, (False, None)),
        (f"```json\n{VALID}\n```\n```json\n{WRONG}\n```", (True, False)),
        (f"<think>\n{NOT_VALID}\n</think>\n{VALID}\n<think>\n{WRONG}\n</think>\n{RIGHT}", (True, True)),
        ("", None),
        (replies_as_text([VALID, RIGHT]), (True, True)),
    ],
)
def test_two_replies_in_one_text_are_told_apart(raw: str, expected: object) -> None:
    assert read(SPOKEN, raw) == expected


@pytest.mark.parametrize("raw", [VALID, RIGHT, f"{VALID}\nI do not know.", f"Such as {VALID}\n{RIGHT}: no."])
def test_what_says_only_half_says_nothing(raw: str) -> None:
    assert isinstance(read(SPOKEN, raw), str)


def test_two_replies_that_were_kept_apart_need_no_guess_where_one_ends() -> None:
    in_form = f"{VALID}\n{RIGHT}"
    assert isinstance(read(SPOKEN, replies_as_text([in_form, RIGHT])), str)
    assert read(SPOKEN, replies_as_text([VALID, WRONG])) == (True, False)


def test_where_the_truth_is_known_one_reply_was_asked_for() -> None:
    assert read(SPOKEN, WRONG, "blue") == (True, False)
    assert isinstance(read(SPOKEN, VALID, "blue"), str)


def test_old_words_are_marked_and_todays_are_not_outdated() -> None:
    assert reader(SPOKEN).outdated
    assert reader(SPOKEN).identity.settings[ASKED_AS] == "verify/1"
    now = reader(SPOKEN).identity.settings["contract"]
    assert not reader(Identity("verifier", "openai", "m", {"contract": now})).outdated


def test_exact_compares_again_and_needs_no_words() -> None:
    old = Identity("verifier", "exact", "exact/1")
    assert read(old, "", "red") == (True, False)
    assert read(old, "", "blue") == (True, True)
    assert reader(old).outdated
    assert not reader(reader(old).identity).outdated


def test_a_panel_votes_again() -> None:
    members = [SPOKEN.data, SPOKEN.data, Identity("verifier", "exact", "exact/1").data]
    panel = Identity("verifier", "panel", "3 verifiers", {"members": members, "repeats": 1})
    words = replies_as_text([WRONG, RIGHT, ""])
    assert read(panel, words, "red") == (True, False)
    assert read(panel, words, "blue") == (True, True)
    with pytest.raises(AtlasError, match="kept as one text"):
        read(panel, f"{WRONG}\n{RIGHT}", "red")


@pytest.mark.parametrize(
    "told",
    [{}, {"members": 3, "repeats": 1}, {"members": ["x"], "repeats": 1}, {"members": [SPOKEN.data]}],
)
def test_a_strangers_panel_is_named(told: dict[str, object]) -> None:
    with pytest.raises(AtlasError, match="identities of hunt 1"):
        reader(Identity("verifier", "panel", "p", told))


def test_a_verifier_of_unknown_words_cannot_be_read() -> None:
    row = HuntRow(1, "vlm", {}, {"verifier": Identity("verifier", "python", "mine")}, (0, 1), None, 0.0)
    assert readers_of(row) == {}


def test_words_around_stored_replies_make_them_no_verdict() -> None:
    found = read(SPOKEN, f"Let me see.\n{VALID}\nThe hat is blue.\n\n{WRONG}")
    assert isinstance(found, str)
    assert found.startswith("the reply gives no word on whether it is valid")


def test_words_that_thresholds_decided_are_not_read_as_if_they_had_decided() -> None:
    """A reply without log-probabilities was invalid, and a verdict when it was read again."""
    plain = Identity("judge", "openai", "m", {"contract": "boolean/2"})
    strict = Identity("judge", "openai", "m", {"contract": "boolean/2", "thresholds": {"*": 0.9}})
    found = [readers_of(HuntRow(1, "t2i", {}, {"judge": one}, (0, 1), None, 0.0)) for one in (plain, strict)]
    assert [list(readers) for readers in found] == [["judge"], []]
