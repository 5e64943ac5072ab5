"""The faulty server by itself: in a process of its own, and true to its schedule."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

import pytest

from failscape.testing.faulty import KINDS, Fault, FaultyServer


def post(url: str, payload: dict[str, Any]) -> Any:
    request = urllib.request.Request(url, json.dumps(payload).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=120) as response:
        return json.load(response)


def test_runs_as_a_process() -> None:
    command = [sys.executable, "-m", "failscape.testing.faulty"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            url = process.stdout.readline().strip()
            reply = post(f"{url}/generate", {"prompts": ["a", "b"], "seeds": [1, 2]})
        finally:
            process.kill()
    assert len(reply["images"]) == 2


def test_follows_its_schedule_then_its_rates() -> None:
    with FaultyServer(["error", "ok"], rates={Fault("rate-limit", retry_after="3"): 1.0}) as server:
        url = f"{server.url}/v1/images/generations"
        with pytest.raises(urllib.error.HTTPError, match="500"):
            post(url, {"prompt": "a"})
        assert post(url, {"prompt": "a"})["data"]
        with pytest.raises(urllib.error.HTTPError) as caught:
            post(url, {"prompt": "a"})
    assert caught.value.headers["Retry-After"] == "3"
    assert server.seen == {"error": 1, "ok": 1, "rate-limit": 1}


def test_keeps_its_port_over_a_restart() -> None:
    server = FaultyServer()
    server.start()
    before = server.url
    server.stop()
    with pytest.raises(OSError, match="refused"):
        post(f"{before}/generate", {"prompts": [], "seeds": []})
    server.start()
    assert server.url == before
    assert post(f"{before}/generate", {"prompts": [], "seeds": []}) == {"images": []}
    server.stop()


def test_unknown_faults_are_named() -> None:
    with pytest.raises(ValueError, match="no fault 'explode'"):
        Fault("explode")
    assert all(Fault(kind).kind == kind for kind in KINDS)
