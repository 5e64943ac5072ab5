"""`failscape doctor ATLAS`: verify digests, rows and counts of an atlas, and mend what can be."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import click

from failscape.atlas import Atlas, HuntRow
from failscape.atlas.contents import changed_corpus
from failscape.atlas.results import keep_results, rules_version
from failscape.atlas.reviews import hunt_accuracy, people_said, reckoned_with
from failscape.atlas.upkeep import Diagnosis, examine, mend
from failscape.evidence.found import kept_by_run, rebuild_hunt, tell_again
from failscape.hunts.protocol import replay
from failscape.hunts.told import to_bytes
from failscape.plugins import find_kind
from failscape.trials import Trial


def doctor_atlas(folder: Path, mending: bool, as_json: bool) -> None:
    """Exits with 1 when something is wrong and stays so."""
    with Atlas.open(folder, readonly=True) as atlas:
        found = examine(atlas)
    done: list[str] = []
    if mending:
        with Atlas.open(folder) as atlas:
            done = mend(atlas, found, lambda row, trials: _retell(atlas, row, trials))
            done += _keep_results(atlas)
            found = examine(atlas)
    if as_json:
        wrong = [ailment._asdict() for ailment in found.ailments]
        counts = {"trials": found.trials, "pictures": found.pictures, "bytes": found.bytes}
        click.echo(json.dumps({**counts, "done": done, "wrong": wrong}, indent=2))
    else:
        _print(found, done, folder, mending)
    if found.ailments:
        sys.exit(1)


def _print(found: Diagnosis, done: list[str], folder: Path, mending: bool) -> None:
    for line in done:
        click.echo(f"{click.style('done', fg='green')}  {line}")
    for ailment in found.ailments:
        click.echo(f"{click.style('fail', fg='red')}  {ailment.what}")
        if ailment.mends and not mending:
            click.echo(f"      failscape doctor {folder} --mend: {ailment.mends}")
    size = f"{found.bytes / 2**20:,.1f} MiB"
    counted = f"{found.trials:,} trials, {found.pictures:,} pictures ({size}) looked at"
    if found.ailments:
        click.echo(f"{counted}: {len(found.ailments)} things are wrong")
    else:
        click.echo(f"{click.style('ok', fg='green')}    {counted}: rows, counts and digests are right")


def _retell(atlas: Atlas, row: HuntRow, trials: Iterator[Trial]) -> None:
    replay(rebuild_hunt(row, hunt_accuracy(atlas, row)), trials)


def _keep_results(atlas: Atlas) -> list[str]:
    """What runs of earlier versions did not keep, or not by today's rules: told once, then at hand."""
    return [f"findings of hunt {row.id} told again and kept" for row in atlas.hunts() if _keep(atlas, row)]


def _keep(atlas: Atlas, row: HuntRow) -> bool:
    trials, judge = sum(atlas.counts(row.id).values()), hunt_accuracy(atlas, row)
    if not trials or changed_corpus(row.config, row.identities) or kept_by_run(atlas, row, judge):
        return False
    content = to_bytes(tell_again(atlas, row, judge))
    rules = rules_version(type(find_kind(row.kind)).__module__)
    known = reckoned_with(judge, people_said(atlas, row.id))
    return keep_results(atlas, row.id, content, rules, known, trials)
