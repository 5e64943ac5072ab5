"""The command line. Each command lives in a file of its own and is imported only when it is used."""

import importlib
import keyword
import sys
import warnings

import click

from failscape.cli.terminal import guarded
from failscape.errors import FailscapeError, nearest_names
from failscape.secrets import clean, printable

#: Command → its line in `--help`, so that help needs no imports.
COMMANDS = {
    "demo": "Hunt a model that comes with Failscape and open the report.",
    "init": "Write a first config, from flags or a few questions.",
    "doctor": "Test a config by experiment, or verify an atlas.",
    "plan": "Say what a budget can prove, how long it takes and what it costs.",
    "run": "Start a hunt, or go on with one.",
    "findings": "Print what a hunt has found.",
    "view": "Look around in atlases, live, in the browser.",
    "report": "Write a static HTML report.",
    "attribute": "Relate failures to how often training data mentions things.",
    "corpus": "Check, build and match corpora.",
    "list": "List providers, corpora and hunts.",
    "schema": "Print the JSON Schema of config files.",
    "compare": "Compare models on the same cases: fixed, better, worse, new.",
    "gate": "Stop a model that is worse than the last one, in CI.",
    "dataset": "Write findings as an adversarial dataset.",
    "repair": "Repair a classifier by its failures, and prove what that changed.",
    "export": "Write trials or nodes to a file.",
    "import": "Bring results of others into an atlas: FailureAtlas files, tables.",
    "merge": "Join the atlases of shards.",
    "prune": "Drop pictures of an atlas, keep all evidence.",
    "review": "Let people check the judge, and reckon with its errors.",
    "rejudge": "Show stored images to another judge.",
    "serve": "Serve models over HTTP: pipelines, vision-language models, shipped ones.",
}


class NearestGroup(click.Group):
    """Keeps its commands in the order given, and names the nearest where one is mistyped."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*self.commands]

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        known = self.list_commands(ctx)
        if args and args[0] not in known and not args[0].startswith("-"):
            near = nearest_names(args[0], known)
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            raise click.UsageError(f"No such command {args[0]!r}.{hint}", ctx)
        return super().resolve_command(ctx, args)


class LazyGroup(NearestGroup):
    """All commands; the module of one is imported when it is used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS]  # `list` is one of our modules once that command was used

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in COMMANDS:
            return None
        module = importlib.import_module(f"failscape.cli.{name}{'_' * keyword.iskeyword(name)}")
        command: click.Command = module.command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


def _version(ctx: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted:
        from failscape.cli.version import version_text

        click.echo(version_text())
        ctx.exit()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_version,
    help="Say the version, the extras that are installed, and the corpora.",
)
def cli() -> None:
    """Failscape finds, certifies and maps where vision models fail."""


def main(arguments: list[str] | None = None) -> None:
    """Entry point. Errors that a user can mend are printed without a traceback."""
    warnings.showwarning = lambda message, *_, **__: click.echo(
        f"warning: {printable(clean(str(message)))}", err=True
    )
    sys.stdout = guarded(sys.stdout)
    sys.stderr = guarded(sys.stderr, moves=True)
    try:
        code = cli.main(arguments, prog_name="failscape", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        code = error.exit_code
    except FailscapeError as error:
        click.echo(f"error: {printable(clean(str(error)))}", err=True)
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        click.echo("interrupted", err=True)
        code = 130
    except BrokenPipeError:
        code = 141
    sys.exit(code if isinstance(code, int) else 0)
