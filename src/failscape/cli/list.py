"""`failscape list`: what can be named in a config."""

import json

import click

from failscape.models.registry import list_providers
from failscape.plugins import kind_names
from failscape.spaces import corpus_names


@click.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List hunts, providers and corpora."""
    providers = list_providers()
    corpora = corpus_names()
    if as_json:
        rows = [{"name": p.name, "roles": list(p.roles), "about": p.about} for p in providers]
        click.echo(json.dumps({"hunts": kind_names(), "providers": rows, "corpora": corpora}, indent=2))
        return
    click.echo(f"hunts: {', '.join(kind_names())}\n\nproviders:")
    for provider in providers:
        click.echo(f"  {provider.name:<14} {provider.about}\n  {'':<14} roles: {', '.join(provider.roles)}")
    click.echo(f"\ncorpora: {', '.join(corpora)}, or a folder")
