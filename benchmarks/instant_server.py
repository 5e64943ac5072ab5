"""An images and chat server that answers at once with fixed bytes, so that only the client is measured.

python -m benchmarks.instant_server PORT [SIDE]
"""

from __future__ import annotations

import asyncio
import base64
import io
import json
import sys
import time

import numpy as np
from aiohttp import web
from PIL import Image


def made_png(side: int) -> bytes:
    """Smooth with some noise, so that it packs as pictures do: 1.5 MB at 1024 pixels."""
    chance = np.random.default_rng(0)
    coarse = Image.fromarray(chance.integers(0, 255, (8, 8, 3), dtype=np.uint8)).resize((side, side))
    noise = chance.integers(0, 7, (side, side, 3), dtype=np.uint8)
    buffer = io.BytesIO()
    Image.fromarray(np.minimum(np.asarray(coarse), 248) + noise).save(buffer, "PNG")
    return buffer.getvalue()


async def serve(port: int, side: int) -> None:
    png = made_png(side)
    judged = json.dumps({"choices": [{"message": {"content": '{"answers": [true]}'}}]}).encode()
    seeds = iter(range(1 << 62))

    async def draw(request: web.Request) -> web.Response:
        await request.read()
        unique = png + next(seeds).to_bytes(8, "big")  # bytes after the end of a PNG are ignored
        image = base64.b64encode(unique)
        return web.Response(body=b'{"data":[{"b64_json":"%s"}]}' % image, content_type="application/json")

    async def chat(request: web.Request) -> web.Response:
        await request.read()
        return web.Response(body=judged, content_type="application/json")

    async def spent(_: web.Request) -> web.Response:
        return web.json_response(time.process_time())

    app = web.Application(client_max_size=1 << 26)
    app.add_routes([web.post("/v1/images/generations", draw), web.post("/v1/chat/completions", chat)])
    app.add_routes([web.get("/v1/processor-seconds", spent)])
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    print("ready", flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(serve(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 64))
