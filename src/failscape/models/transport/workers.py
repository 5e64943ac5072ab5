"""A few threads for what would hold the event loop up: decoding, shrinking, encoding and hashing of pictures.

Only what is large goes there: a change of threads costs more than a small picture. As many pictures are
decoded at one time as there are threads, however many wait, so memory stays bounded.
"""

import asyncio
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

T = TypeVar("T")

#: Pillow, base64 and hashes let go of the interpreter's lock, so that threads do work side by side.
THREADS = max(2, min(8, os.cpu_count() or 1))

#: Bytes from which on work is handed over: about a tenth of a millisecond of JSON, base64 and hash.
LARGE = 1 << 16


@lru_cache(maxsize=1)
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="failscape-pictures")


async def off_loop(large: bool, work: Callable[[], T]) -> T:
    """What `work` gives: done in a thread when it is large, here and now when it is not."""
    if not large:
        return work()
    return await asyncio.get_running_loop().run_in_executor(_threads(), work)
