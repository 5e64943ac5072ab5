"""The pool against a scripted transport and a clock of our own: no network, no real waiting."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import aiohttp
import pytest

from failscape.errors import BadReply, ModelError, Permanent, Refused, Transient
from failscape.models.transport.endpoints import Backoff, Endpoint, EndpointState
from failscape.models.transport.pool import POISON, EndpointPool, Response

OK = Response(200, {}, [b"fine"])
Script = Callable[[str, int], Awaitable[Response] | Response | Exception]


class Rig:
    """A pool whose requests are answered by `script(url, number)`; time passes only in pauses."""

    def __init__(self, script: Script, endpoints: int = 1, most: int = 8, patience: float = 60.0) -> None:
        self.now = 0.0
        self.urls: list[str] = []
        self.pauses: list[float] = []
        self.script = script
        self.pool = EndpointPool(
            [
                Endpoint(f"http://e{i}", most, EndpointState(shortest=0.01, longest=0.02))
                for i in range(endpoints)
            ],
            self.send,
            patience,
            Backoff(first=1.0),
            clock=self.clock,
            chance=lambda: 1.0,
            sleep=self.sleep,
        )

    def clock(self) -> float:
        return self.now + asyncio.get_running_loop().time()

    async def sleep(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self.now += seconds
        await asyncio.sleep(0)

    async def send(self, url: str, body: bytes) -> Response:
        self.urls.append(url)
        outcome = self.script(url, len(self.urls) - 1)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome if isinstance(outcome, Response) else await outcome

    async def post(self) -> str:
        return (await self.pool.post("/p", b"", bytes.decode)).value


def script_of(*responses: Response | Exception) -> Script:
    """These answers in turn, then good ones."""
    return lambda url, number: responses[number] if number < len(responses) else OK


async def test_a_good_answer_costs_one_request() -> None:
    rig = Rig(script_of())
    answer = await rig.pool.post("/p", b"", bytes.decode)
    assert (answer.value, answer.requests, answer.answered) == ("fine", 1, 1)
    assert rig.urls == ["http://e0/p"]
    assert rig.pool.requests == 1


async def test_transient_faults_are_retried_with_growing_pauses() -> None:
    rig = Rig(script_of(Response(500, {}), Response(502, {}, [b""]), ConnectionResetError("x")))
    answer = await rig.pool.post("/p", b"", bytes.decode)
    assert (answer.requests, answer.answered) == (4, 1)
    assert rig.pauses == [1.0, 2.0, 4.0]
    assert rig.pool.stats()[0].transient == 3


async def test_bad_replies_are_retried_twice() -> None:
    def read(body: bytes) -> str:
        raise BadReply("not in form")

    rig = Rig(script_of())
    with pytest.raises(BadReply, match="http://e0: not in form") as caught:
        await rig.pool.post("/p", b"", read)
    assert caught.value.requests == 3
    assert len(rig.urls) == 3


async def test_a_reader_that_trips_over_the_reply_means_a_bad_reply() -> None:
    rig = Rig(script_of())
    with pytest.raises(BadReply, match="not in form"):
        await rig.pool.post("/p", b"", lambda body: body["missing"])  # type: ignore[call-overload]


async def test_a_bug_in_a_reader_is_not_swallowed() -> None:
    def read(body: bytes) -> str:
        raise NameError("oops")

    rig = Rig(script_of())
    with pytest.raises(NameError):
        await rig.pool.post("/p", b"", read)
    assert rig.pool.stats()[0].in_flight == 0


async def test_permanent_errors_are_raised_at_once() -> None:
    rig = Rig(script_of(Response(401, {}, [b"who are you"])))
    with pytest.raises(Permanent, match="who are you") as caught:
        await rig.post()
    assert caught.value.fix
    assert caught.value.endpoint == "http://e0"
    assert len(rig.urls) == 1


async def test_a_bad_request_after_success_is_a_refusal() -> None:
    rig = Rig(script_of(OK, Response(400, {})))
    await rig.post()
    with pytest.raises(Refused):
        await rig.post()


async def test_a_success_of_one_endpoint_proves_the_settings_of_all() -> None:
    rig = Rig(lambda url, number: OK if number == 0 else Response(400, {}, [b"too long"]), endpoints=2)
    await rig.post()
    with pytest.raises(Refused, match="too long"):
        await rig.post()
    assert rig.urls == ["http://e0/p", "http://e1/p", "http://e0/p"], (
        "one that never succeeded is not believed"
    )


WRONG = (
    Response(400, {}, [b"no such parameter"]),
    Response(404, {}, [b"no such model"]),
    Response(422, {}, [b"cannot be processed"]),
    Response(401, {}, [b"who are you"]),
    Response(200, {}, [b"<html>Welcome</html>"]),
)


def read_fine(body: bytes) -> str:
    if body != b"fine":
        raise BadReply("not in form")
    return body.decode()


@pytest.mark.parametrize("wrong", WRONG, ids=lambda response: f"{response.status}")
async def test_one_bad_endpoint_does_not_spoil_a_good_pool(wrong: Response) -> None:
    """The bad one answers at once, the good ones take their time: by speed alone it would get nearly all."""

    async def slowly() -> Response:
        await asyncio.sleep(0.002)
        return OK

    rig = Rig(lambda url, number: wrong if "e1" in url else slowly(), endpoints=3, most=4)
    for endpoint in rig.pool._endpoints:
        endpoint.state = EndpointState()  # rests of a second and more, as in a real run
    replies = await asyncio.gather(*(rig.pool.post("/p", b"", read_fine) for _ in range(200)))
    assert [reply.value for reply in replies] == ["fine"] * 200, "nothing is lost"
    bad = rig.pool.stats()[1]
    assert bad.requests <= 12, f"{bad.requests} of 200 requests went to the bad one"
    assert bad.state == "ejected"
    assert bad.ejected >= 1
    assert bad.refused + bad.bad == bad.requests


async def test_only_when_all_refuse_does_it_stop() -> None:
    rig = Rig(lambda url, number: Response(404, {}, [b"no such model"]), endpoints=3)
    with pytest.raises(Permanent, match=r"all 3 endpoints refuse; .*no such model"):
        await rig.post()
    assert len(rig.urls) == 3


async def test_a_trusted_endpoint_that_refuses_is_believed_at_once() -> None:
    rig = Rig(script_of(OK, OK, Response(400, {}, [b"too long"])), endpoints=2)
    await rig.post()
    await rig.post()
    with pytest.raises(Refused, match="too long"):
        await rig.post()
    assert len(rig.urls) == 3


async def test_an_endpoint_that_goes_wrong_later_loses_its_trust() -> None:
    """Restarted with another model, say: after a few refusals in a row others are asked as well."""
    broken = False

    def script(url: str, number: int) -> Response:
        return Response(400, {}, [b"no"]) if broken and "e1" in url else OK

    rig = Rig(script, endpoints=2)
    for _ in range(4):
        await rig.post()
    broken = True
    refused = 0
    for _ in range(40):
        try:
            await rig.post()
        except Refused:
            refused += 1
    assert refused == 2
    assert rig.pool.stats()[1].ejected >= 1


async def test_a_refusal_by_policy_is_the_models_own_and_asked_once() -> None:
    rig = Rig(lambda url, number: Response(400, {}, [b'{"code": "content_policy_violation"}']), endpoints=3)
    with pytest.raises(Refused):
        await rig.post()
    assert len(rig.urls) == 1


async def test_a_bad_endpoint_and_a_dead_one_are_an_outage() -> None:
    def script(url: str, number: int) -> Response | Exception:
        return Response(400, {}, [b"no"]) if "e0" in url else ConnectionResetError("x")

    rig = Rig(script, endpoints=2, patience=0.3)
    with pytest.raises(ModelError) as caught:
        await asyncio.wait_for(rig.post(), 120)
    assert "e1" in str(caught.value)


async def test_a_rest_that_ends_while_places_are_given_is_not_missed() -> None:
    """Every look at the clock takes time here, so that rests end between two looks."""

    class SlowClock(Rig):
        tick = 0.0

        def clock(self) -> float:
            self.now += self.tick
            return super().clock()

    def script(url: str, number: int) -> Response | Exception:
        return Response(400, {}, [b"no"]) if "e0" in url else ConnectionResetError("x")

    for tick in range(1, 40):
        rig = SlowClock(script, endpoints=2, patience=0.3)
        rig.tick = tick / 5000
        with pytest.raises(ModelError, match="no answer from"):
            await asyncio.wait_for(rig.post(), 20)


async def test_a_wait_that_is_too_long_is_named() -> None:
    rig = Rig(lambda url, number: Response(429, {"Retry-After": "1000000000"}))
    with pytest.raises(Transient, match=r"asks to wait 1,000,000,000 s \(Retry-After\)"):
        await rig.post()


async def test_equally_free_endpoints_take_turns() -> None:
    rig = Rig(script_of(), endpoints=3)
    for _ in range(6):
        await rig.post()
    assert rig.urls == [f"http://e{i}/p" for i in (0, 1, 2, 0, 1, 2)]


async def test_retry_after_is_obeyed_without_a_pause_of_our_own() -> None:
    rig = Rig(script_of(Response(429, {"Retry-After": "1"})))
    started = rig.clock()
    assert await rig.post() == "fine"
    assert rig.clock() - started >= 1
    assert rig.pauses == []
    assert rig.pool.stats()[0].rate_limited == 1


@pytest.mark.parametrize("asked", ["0", "0.0", "-0", "0.001", "Thu, 01 Jan 1970 00:00:00 GMT"])
async def test_a_server_that_asks_for_no_pause_gets_one_that_grows(asked: str) -> None:
    rig = Rig(script_of(*[Response(429, {"Retry-After": asked})] * 4))
    assert await rig.post() == "fine"
    assert rig.pauses == [1.0, 2.0, 4.0, 8.0]


async def test_a_wait_beyond_patience_is_an_error_at_once() -> None:
    rig = Rig(script_of(Response(429, {"Retry-After": "86400"}, [b"quota"])), patience=3600)
    with pytest.raises(Transient, match="quota"):
        await asyncio.wait_for(rig.post(), 120)


async def test_rate_limits_of_one_round_trip_halve_the_limit_once() -> None:
    all_sent = asyncio.Event()

    async def limited() -> Response:
        if len(rig.urls) == 4:
            all_sent.set()
        await all_sent.wait()
        return Response(429, {})

    rig = Rig(lambda url, number: limited() if number < 4 else OK, most=8)
    await asyncio.gather(*(rig.post() for _ in range(4)))
    stats = rig.pool.stats()[0]
    assert (stats.limit, stats.rate_limited) == (4, 4)


async def test_no_more_in_flight_than_the_limit() -> None:
    at_once = most = 0

    async def slow() -> Response:
        nonlocal at_once, most
        at_once += 1
        most = max(most, at_once)
        await asyncio.sleep(0)
        at_once -= 1
        return OK

    rig = Rig(lambda url, number: slow(), most=3)
    await asyncio.gather(*(rig.post() for _ in range(40)))
    assert most == 3
    assert rig.pool.stats()[0].in_flight == 0


async def test_a_dead_endpoint_is_ejected_and_the_other_takes_over() -> None:
    def script(url: str, number: int) -> Response | Exception:
        return ConnectionRefusedError("down") if "e0" in url else OK

    rig = Rig(script, endpoints=2)
    for _ in range(60):
        assert await rig.post() == "fine"
    dead, alive = rig.pool.stats()
    assert dead.state == "ejected"
    assert dead.ejected >= 1
    assert alive.ok == 60
    assert dead.requests < 30


async def test_waits_for_a_server_that_comes_back() -> None:
    rig = Rig(lambda url, number: ConnectionRefusedError("down") if number < 9 else OK)
    answers = await asyncio.wait_for(asyncio.gather(*(rig.post() for _ in range(6))), 120)
    assert answers == ["fine"] * 6
    assert rig.pool.stats()[0].state == "ok"


async def test_patience_ends_and_everybody_who_waits_is_told() -> None:
    rig = Rig(lambda url, number: ConnectionRefusedError("down"), patience=0.1)
    results = await asyncio.wait_for(
        asyncio.gather(*(rig.post() for _ in range(6)), return_exceptions=True), 120
    )
    assert all(isinstance(result, Transient) for result in results)
    assert "http://e0" in str(results[0])
    assert "down" in str(results[0])


async def test_a_request_that_always_fails_while_others_succeed_is_refused() -> None:
    rig = Rig(script_of())

    async def send(url: str, body: bytes) -> Response:
        if body != b"poison":
            return OK
        await rig.pool.post("/p", b"good", bytes.decode)  # another is answered before this one fails
        return Response(500, {}, [b"boom"])

    rig.pool._transport = send
    with pytest.raises(Refused, match="while other requests were answered") as caught:
        await asyncio.wait_for(rig.pool.post("/p", b"poison", bytes.decode), 120)
    assert caught.value.requests == POISON


async def test_a_long_outage_makes_nobody_a_suspect() -> None:
    all_sent = asyncio.Event()

    async def late() -> Response:
        await all_sent.wait()
        return OK

    def script(url: str, number: int) -> Awaitable[Response] | Response | Exception:
        """One answer after all were sent, then nothing for many tries, then answers."""
        if number == 5:
            all_sent.set()
        if number == 0:
            return late()
        return ConnectionRefusedError("down") if number < 12 * POISON else OK

    rig = Rig(script, patience=1e6)
    answers = await asyncio.wait_for(asyncio.gather(*(rig.post() for _ in range(6))), 120)
    assert answers == ["fine"] * 6


async def test_requests_take_turns_at_trying_a_resting_endpoint() -> None:
    rig = Rig(script_of(), patience=1e6)
    sent: list[bytes] = []

    async def send(url: str, body: bytes) -> Response:
        sent.append(body)
        if len(sent) < 20:
            raise ConnectionRefusedError("down")
        return OK

    rig.pool._transport = send
    posts = (rig.pool.post("/p", body, bytes.decode) for body in (b"a", b"b", b"c"))
    await asyncio.wait_for(asyncio.gather(*posts), 120)
    trials = sent[8:20]  # five failures eject the endpoint; the others under way come back after that
    assert all(sorted(trials[i : i + 3]) == [b"a", b"b", b"c"] for i in range(0, 12, 3))


async def test_cancelled_requests_give_their_places_back() -> None:
    async def never() -> Response:
        await asyncio.sleep(3600)
        return OK

    rig = Rig(lambda url, number: never() if number < 3 else OK, most=3)
    stuck = [asyncio.create_task(rig.post()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting = [asyncio.create_task(rig.post()) for _ in range(3)]
    await asyncio.sleep(0)
    waiting[0].cancel()
    for task in stuck:
        task.cancel()
    results = await asyncio.wait_for(asyncio.gather(*stuck, *waiting, return_exceptions=True), 120)
    assert [result for result in results if isinstance(result, str)] == ["fine", "fine"]
    assert rig.pool.stats()[0].in_flight == 0


async def test_a_cancelled_trial_does_not_lock_the_endpoint() -> None:
    async def never() -> Response:
        await asyncio.sleep(3600)
        return OK

    def script(url: str, number: int) -> Awaitable[Response] | Response | Exception:
        if number < 5:
            return aiohttp.ServerDisconnectedError()
        return never() if number == 5 else OK

    rig = Rig(script)
    first = asyncio.create_task(rig.post())
    while len(rig.urls) < 6:  # noqa: ASYNC110 - the fifth retry has no other sign
        await asyncio.sleep(0.005)
    first.cancel()
    assert await asyncio.wait_for(rig.post(), 120) == "fine"


async def test_an_answer_means_that_the_endpoint_is_up_even_if_it_is_bad() -> None:
    replies: list[Response | Exception] = [Response(500, {})] * 4 + [Response(400, {}, [b"content_policy"])]
    rig = Rig(script_of(*replies * 3))
    for _ in range(3):
        with pytest.raises(ModelError):
            await rig.post()
    assert rig.pool.stats()[0].ejected == 0
