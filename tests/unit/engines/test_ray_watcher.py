"""What a killed driver leaves of its Ray cluster is ended; processes of others are not touched."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from failscape.engines.ray_watcher import ray_descendants

pytestmark = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")

FAKE = """
import subprocess
def fake(name, code="import time; time.sleep(600)"):
    words = [name, "-c", code, PYTHON]
    return subprocess.Popen(words, executable=PYTHON, start_new_session=True, stdout=subprocess.PIPE)
"""
DRIVER = """
import sys, time
PYTHON = sys.argv[1]
{fake}
raylet = fake("/lib/ray/raylet", {raylet!r})
agent = int(raylet.stdout.readline())
other = fake("bystander")
from failscape.engines.ray_watcher import start_watcher
watcher = start_watcher()
watcher.stdout.readline()
print(raylet.pid, agent, other.pid, watcher.pid, flush=True)
time.sleep(600)
""".format(
    fake=FAKE,
    raylet=f"""
import sys, time
PYTHON = sys.argv[1]
{FAKE}
print(fake("ray::Agent").pid, flush=True)
time.sleep(600)
""",
)


def alive(number: int) -> bool:
    try:
        state = Path(f"/proc/{number}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_orphans_of_a_killed_driver_are_ended_and_nobody_else() -> None:
    driver = subprocess.Popen(
        [sys.executable, "-c", DRIVER, sys.executable], stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    raylet, agent, other, watcher = map(int, driver.stdout.readline().split())
    try:
        found = {number for number, _ in ray_descendants(driver.pid)}
        assert {raylet, agent} <= found
        assert other not in found
        driver.kill()
        driver.wait()
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline and any(map(alive, (raylet, agent, watcher))):
            time.sleep(0.1)
        assert not alive(raylet)
        assert not alive(agent)
        assert not alive(watcher)
        assert alive(other)
    finally:
        for number in (raylet, agent, other):
            if alive(number):
                os.kill(number, signal.SIGKILL)
        driver.stdout.close()
