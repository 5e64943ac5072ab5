"""`failscape view ATLAS…`: look around in atlases with the browser, live while a run goes on."""

import asyncio
import html
import ipaddress
import webbrowser
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from failscape.servers.running import serve_app
from failscape.views.viewer.library import Library
from failscape.views.viewer.server import TOKEN, Guard, build_app

PORT = 8317


@click.command("view")
@click.argument("atlases", type=click.Path(path_type=Path), nargs=-1, required=True, metavar="ATLAS...")
@click.option("--port", type=click.IntRange(0, 65535), default=PORT, show_default=True, help="0: a free one.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Where to listen.")
@click.option("--no-browser", is_flag=True, help="Only print the address.")
def command(atlases: tuple[Path, ...], port: int, host: str, no_browser: bool) -> None:
    """Show one or several ATLASES in the browser until Ctrl-C.

    The address carries a token: whoever has it may look, and label checks in a review.
    """
    guard = Guard(any_address=not _is_loopback(host))

    def announce(address: str) -> None:
        url = f"{address}/?{TOKEN}={guard.token}"
        click.echo(f"{url}\nShowing {', '.join(map(str, atlases))}. Ctrl-C stops it.")
        if guard.any_address:
            click.echo("warning: others in this network can reach it; the address is the key", err=True)
        if not no_browser:
            webbrowser.open(_private_page(url, folder))

    with Library(atlases) as library, TemporaryDirectory(prefix="failscape-") as folder:
        asyncio.run(serve_app(build_app(library, guard), host, port, announce))


def _private_page(url: str, folder: str) -> str:
    """The address of a page that only this user can read and that leads to `url`.

    What a browser is started with can be read by all users of the machine, and the token would be in it.
    """
    page = Path(folder) / "view.html"
    page.write_text(f'<meta http-equiv="refresh" content="0; url={html.escape(url)}">', encoding="utf-8")
    return page.as_uri()


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
