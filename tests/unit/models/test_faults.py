from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import aiohttp
import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.errors import BadReply, ModelError, Permanent, RateLimited, Refused, Transient
from failscape.models.transport.faults import (
    Redactor,
    classify_exception,
    classify_status,
    is_congestion,
    parse_retry_after,
    shown_url,
)

NOW = datetime(2026, 1, 1, tzinfo=UTC)


def classify(status: int, body: bytes = b"", ok: bool = False, key: str = "", **headers: str) -> ModelError:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return classify_status(status, named, body, "http://x/v1", ok, NOW, Redactor(key))


@pytest.mark.parametrize("status", [401, 403, 404, 405, 301, 402])
@pytest.mark.parametrize("ok", [True, False])
def test_statuses_that_stop_a_run(status: int, ok: bool) -> None:
    error = classify(status, ok=ok)
    assert isinstance(error, Permanent)
    assert error.endpoint == "http://x/v1"
    assert "http://x/v1" in str(error)
    assert error.fix


@pytest.mark.parametrize("status", [400, 422])
def test_a_bad_request_is_permanent_until_the_endpoint_has_succeeded(status: int) -> None:
    assert isinstance(classify(status, ok=False), Permanent)
    assert isinstance(classify(status, ok=True), Refused)


@pytest.mark.parametrize("code", ["content_policy_violation", "content_filter", "moderation_blocked"])
def test_a_content_policy_is_a_refusal_from_the_start(code: str) -> None:
    body = b'{"error": {"code": "%s", "message": "no"}}' % code.encode()
    assert isinstance(classify(400, body), Refused)


@pytest.mark.parametrize("status", [500, 502, 503, 504, 408])
def test_passing_faults(status: int) -> None:
    assert isinstance(classify(status), Transient)


def test_rate_limits_carry_the_wait() -> None:
    for status in (429, 503, 529):
        error = classify(status, Retry_After="7")
        assert isinstance(error, RateLimited)
        assert error.retry_after == 7
        assert is_congestion(error)
    bare = classify(429)
    assert isinstance(bare, RateLimited)
    assert bare.retry_after is None


def test_the_servers_own_words_are_in_the_message() -> None:
    body = b'{"error": {"message": "no model called foo"}}'
    assert "no model called foo" in str(classify(404, body))


def test_an_echoed_key_is_blotted_out() -> None:
    error = classify(401, b"wrong key sk-secret-123", key="sk-secret-123")
    assert "sk-secret-123" not in str(error)
    assert "***" in str(error)
    assert "sk-secret-123" not in repr(Redactor("sk-secret-123"))


def test_shown_url_hides_user_and_query() -> None:
    assert shown_url("https://me:pw@host:8/v1?key=abc#f") == "https://host:8/v1"


def test_retry_after_as_date() -> None:
    later = NOW + timedelta(seconds=90)
    assert parse_retry_after(format_datetime(later, usegmt=True), NOW) == 90
    assert parse_retry_after(format_datetime(NOW - timedelta(hours=1), usegmt=True), NOW) == 0


@pytest.mark.parametrize("value", [None, "", "soon", "-5", "nan", "inf", "Mon, 99 Foo 2026"])
def test_unreadable_retry_after_is_none(value: str | None) -> None:
    assert parse_retry_after(value, NOW) is None


@given(st.text(max_size=40))
def test_retry_after_never_raises_or_goes_back(value: str) -> None:
    seconds = parse_retry_after(value, NOW)
    assert seconds is None or seconds >= 0


def test_exceptions_by_kind() -> None:
    def kind(error: Exception) -> type[ModelError]:
        return type(classify_exception(error, "http://x", False, Redactor()))

    assert kind(TimeoutError()) is Transient
    assert kind(aiohttp.ServerDisconnectedError()) is Transient
    assert kind(ConnectionResetError("gone")) is Transient
    assert kind(aiohttp.ClientPayloadError("cut")) is BadReply


def test_a_time_out_is_congestion_and_a_reset_is_not() -> None:
    for cause, expected in ((TimeoutError(), True), (ConnectionResetError(), False)):
        error = classify_exception(cause, "http://x", False, Redactor())
        error.__cause__ = cause
        assert is_congestion(error) is expected


@given(st.integers(300, 599), st.binary(max_size=60), st.booleans())
def test_every_status_has_a_class_and_names_the_endpoint(status: int, body: bytes, ok: bool) -> None:
    error = classify(status, body, ok)
    assert isinstance(error, RateLimited | Transient | Refused | Permanent)
    assert "http://x/v1" in error.message


def test_a_refused_key_is_named_by_its_variable() -> None:
    redactor = Redactor("sk-secret-123", variable="MY_KEY")
    error = classify_status(401, {}, b"", "http://gpu", False, datetime.now(UTC), redactor)
    assert "environment variable MY_KEY" in error.fix
    unnamed = classify_status(401, {}, b"", "http://gpu", False, datetime.now(UTC), Redactor())
    assert "api_key_env: API_KEY" in unnamed.fix
