"""A key that a server echoes, whole, in part or encoded, is blotted out; ordinary text stays."""

from __future__ import annotations

import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape import secrets
from failscape.secrets import BLOT, FRAGMENT, Blotter

KEY = "sk-Zq81_pLw0+Tt/93mVv"


def test_whole_and_in_part() -> None:
    blotter = Blotter(KEY)
    assert blotter.clean(f"your key {KEY} is wrong") == f"your key {BLOT} is wrong"
    assert (
        blotter.clean(f"Incorrect key: {KEY[:9]}********{KEY[-8:]}.")
        == f"Incorrect key: {BLOT}********{BLOT}."
    )
    assert blotter.clean("A red cat on the sofa, 93 of 100.") == "A red cat on the sofa, 93 of 100."


@pytest.mark.parametrize("before", ["", "a", "ab", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_encoded_at_any_place(before: str, encode: object) -> None:
    text = base64.b64encode(f"{before}{KEY}:more".encode()).decode()
    if encode is base64.urlsafe_b64encode:
        text = base64.urlsafe_b64encode(f"{before}{KEY}:more".encode()).decode()
    cleaned = Blotter(KEY).clean(text)
    assert BLOT in cleaned
    assert not any(text[at : at + 2 * FRAGMENT] in cleaned for at in range(8, len(text) - 2 * FRAGMENT - 8))


@given(st.text("abcXYZ019-_+/=.", min_size=FRAGMENT, max_size=60), st.text(max_size=40), st.text(max_size=40))
def test_no_part_of_eight_characters_is_left(secret: str, before: str, after: str) -> None:
    cleaned = Blotter(secret).clean(f"{before}{secret}{after}").replace(BLOT, "\0")
    assert not any(secret[at : at + FRAGMENT] in cleaned for at in range(len(secret) - FRAGMENT + 1))


def test_short_keys_are_blotted_as_words_only() -> None:
    assert Blotter("EMPTY").clean("the key EMPTY; EMPTYING the box") == f"the key {BLOT}; EMPTYING the box"
    assert Blotter("").clean("anything") == "anything"


def test_data_without_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secrets, "_known", {})
    data = {"a": [f"x {KEY}", 3, None], "b": True}
    assert secrets.clean_data(data) is data
    secrets.remember(KEY)
    assert secrets.clean_data(data) == {"a": [f"x {BLOT}", 3, None], "b": True}
    assert KEY not in repr(secrets._known[KEY])
