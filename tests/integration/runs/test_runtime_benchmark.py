"""The runtime's benchmark asks our loop and the bare one for the same trials, over each of its servers."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from benchmarks.runtime import bare_loop, config, instant_server, our_loop, planted_servers


@pytest.mark.parametrize("servers", [instant_server, planted_servers])
def test_both_loops_run_every_trial(servers: Any, tmp_path: Path) -> None:
    with servers() as addresses:
        assert asyncio.run(bare_loop(addresses, 20)).rate > 0
        assert our_loop(config(addresses, 20), 20, tmp_path / "atlas").rate > 0
