"""How fast the viewer answers over large atlases: `python -m benchmarks.viewer [--trials N …] [--folder F]`.

Makes atlases with no model, opens a viewer over each in a process of its own, and asks it what a page asks.
Times are those of the whole request as a browser sees it, the median of five, without drawing; beside them
the server's own processor time, which other work on the machine does not change.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable
from http.cookiejar import CookieJar
from pathlib import Path

from benchmarks.made_atlas import grow_atlas, make_atlas

FILTERS = {
    "no filter": "",
    "verdict": "verdict=fail",
    "check": "check=Base%3A%20Colour",
    "reason": "reason=not%20red",
    "text": "text=red%20cat",
    "value": "under=Base%3A%20Colour%3Dred",
    "three at once": "verdict=fail&under=Base%3A%20Colour%3Dred&text=dog",
    "far page": "verdict=fail&start=20000&many=120",
}
ROUNDS = 5
MADE = 100_000
"""Trials that are made one by one; larger atlases repeat them under other keys, which takes far less time."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--trials", type=int, nargs="+", default=[100_000, 1_000_000])
    options.add_argument("--folder", type=Path, help="keep the atlases here, and use those that are there")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        for trials in chosen.trials:
            measure((chosen.folder or Path(temporary)) / f"made-{trials}", trials)


def measure(folder: Path, trials: int) -> None:
    if not (folder / "atlas.db").exists():
        began = time.perf_counter()
        make_atlas(folder, min(trials, MADE))
        grow_atlas(folder, max(1, trials // MADE))
        print(f"{trials:,} trials: made in {time.perf_counter() - began:.0f} s", flush=True)
    began = time.perf_counter()
    viewer = subprocess.Popen(
        [sys.executable, "-m", "failscape", "view", str(folder), "--port", "0", "--no-browser"],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert viewer.stdout is not None
        address = viewer.stdout.readline().strip()
        print(f"  viewer up after                {time.perf_counter() - began:8.3f} s")
        ask = Asker(address, viewer.pid)
        tell("first screen, all its files", ask.timed(ask.first_screen))
        tell("first pictures: reads all trials", ask.timed(lambda: ask.ask("pictures?many=120")))
        for name, query in FILTERS.items():
            tell(f"filter: {name}", ask.often(f"pictures?{query}"))
        tell("map", ask.often("map"))
        tell("60 thumbnails, first time", ask.thumbnails(60))
        tell("the same again", ask.thumbnails(60))
    finally:
        viewer.terminate()
        viewer.wait(10)


Times = tuple[float, float]


def tell(what: str, times: Times) -> None:
    print(f"  {what:<32} {times[0]:8.3f} s   {times[1]:8.3f} s of the server's processor", flush=True)


class Asker:
    """A browser without a window, that watches the server's clock."""

    def __init__(self, address: str, pid: int) -> None:
        self._pid = pid
        self._base, _, _ = address.partition("/?")
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self._opener.open(address).read()
        self._slug = json.loads(self._get("/api/library"))["atlases"][0]["slug"]

    def _get(self, path: str) -> bytes:
        with self._opener.open(self._base + path) as reply:
            return bytes(reply.read())

    def ask(self, question: str) -> bytes:
        return self._get(f"/api/{self._slug}/1/{question}")

    def timed(self, deed: Callable[[], object]) -> Times:
        began, worked = time.perf_counter(), self._processor()
        deed()
        return time.perf_counter() - began, self._processor() - worked

    def _processor(self) -> float:
        """Seconds of processor that the server has used; not a number where the system does not tell."""
        try:
            fields = Path(f"/proc/{self._pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            return float("nan")
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def often(self, question: str) -> Times:
        """The median of several; processor time, which is told in hundredths, as their mean."""
        found = [self.timed(lambda: self.ask(question)) for _ in range(ROUNDS)]
        return statistics.median(one[0] for one in found), statistics.mean(one[1] for one in found)

    def first_screen(self) -> None:
        """The page, its style and scripts, the list of atlases, and the overview."""
        self._get("/")
        for name in ("style.css", "js/app.js", "js/base.js", "js/parts.js", "vendor/htm-preact.js"):
            self._get(f"/static/{name}")
        self._get("/api/library")
        self.ask("overview")

    def thumbnails(self, many: int) -> Times:
        items = json.loads(self.ask(f"pictures?many={many}"))["items"]
        return self.timed(
            lambda: [self._get(f"/pictures/{self._slug}/{item['image']}?side=192") for item in items]
        )


if __name__ == "__main__":
    main()
