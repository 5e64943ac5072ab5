"""How fast the viewer answers over large atlases: `python -m benchmarks.viewer [--trials N …] [--folder F]`.

Makes atlases with no model, opens a viewer over each in a process of its own, and asks it what a page asks.
Times are those of the whole request as a browser sees it, the median of five, without drawing.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from http.cookiejar import CookieJar
from pathlib import Path

from failscape.testing.made_atlas import make_atlas

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
        make_atlas(folder, trials)
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
        ask = Asker(address)
        print(f"  first screen, all its files    {ask.first_screen():8.3f} s")
        print(f"  first page of pictures         {ask.once('pictures?many=120'):8.3f} s  (reads all trials)")
        for name, query in FILTERS.items():
            print(f"  filter: {name:<22} {ask.often(f'pictures?{query}'):8.3f} s")
        print(f"  map                            {ask.often('map'):8.3f} s")
        print(f"  60 thumbnails, first time      {ask.thumbnails(60):8.3f} s")
    finally:
        viewer.terminate()
        viewer.wait(10)


class Asker:
    """A browser without a window."""

    def __init__(self, address: str) -> None:
        self._base, _, _ = address.partition("/?")
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(CookieJar()))
        self._opener.open(address).read()
        self._slug = json.loads(self._get("/api/library"))["atlases"][0]["slug"]

    def _get(self, path: str) -> bytes:
        with self._opener.open(self._base + path) as reply:
            return bytes(reply.read())

    def once(self, question: str) -> float:
        began = time.perf_counter()
        self._get(f"/api/{self._slug}/1/{question}")
        return time.perf_counter() - began

    def often(self, question: str) -> float:
        return statistics.median(self.once(question) for _ in range(ROUNDS))

    def first_screen(self) -> float:
        """The page, its style and scripts, the list of atlases, and the overview."""
        began = time.perf_counter()
        for path in (
            "/",
            "/static/style.css",
            "/static/js/app.js",
            "/static/js/base.js",
            "/static/js/parts.js",
        ):
            self._get(path)
        self._get("/static/vendor/htm-preact.js")
        self._get("/api/library")
        self._get(f"/api/{self._slug}/1/overview")
        return time.perf_counter() - began

    def thumbnails(self, many: int) -> float:
        page = json.loads(self._get(f"/api/{self._slug}/1/pictures?many={many}"))
        began = time.perf_counter()
        for item in page["items"]:
            self._get(f"/pictures/{self._slug}/{item['image']}?side=192")
        return time.perf_counter() - began


if __name__ == "__main__":
    main()
