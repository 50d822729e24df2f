"""All commands, put together."""

import sys
from collections.abc import Callable, Sequence
from typing import Annotated

import typer
from rich.console import Console

from adjoint_client import AdjointError
from app.cli.audit import audit
from app.cli.backup import backup, restore
from app.cli.catalogue import layers, openapi, ops, optimizers
from app.cli.control import cancel, extend, pause, resume
from app.cli.fit import bundle, fit, replay, watch
from app.cli.keys import keys
from app.cli.listing import add_resources
from app.cli.migrate import migrate
from app.cli.predict import evaluate, predict
from app.cli.system import system
from app.cli.verify import verify


def demo(
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server and its web page open until Ctrl-C.")] = False,
) -> None:
    """Start a server, train on real data through it, show what came out, and stop it."""
    from app.cli.demo.runner import run

    raise typer.Exit(run(Console(), keep=keep))


TRAINING: Sequence[Callable[..., None]] = (demo, fit, watch, cancel, pause, resume, extend, predict, evaluate)
OTHERS: Sequence[Callable[..., None]] = (
    bundle, replay, system, backup, restore, migrate, verify, ops, layers, optimizers, openapi,
)  # fmt: skip


def run(arguments: Sequence[str]) -> int:
    """Run the command in `arguments` and return the exit status; a refusal is printed in one line, no traceback."""
    try:
        return int(commands()(args=list(arguments), prog_name="adjoint", standalone_mode=True) or 0)
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except AdjointError as error:
        sys.stderr.write(f"adjoint: {error}\n")
        return 1


def commands() -> typer.Typer:
    """The command line as a whole."""
    app = typer.Typer(
        help="Train models on a server: post graphs and data, follow the fits, fetch the parameters.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )
    passed_on = {"allow_extra_args": True, "ignore_unknown_options": True, "help_option_names": []}
    app.command("serve", context_settings=passed_on, help="Run the server until Ctrl-C.")(_serve)
    for command in TRAINING:
        app.command()(command)
    add_resources(app)
    for command in OTHERS:
        app.command()(command)
    app.add_typer(keys, name="keys")
    app.add_typer(audit, name="audit")
    return app


def _serve(context: typer.Context) -> None:
    from app.cli.serve import serve  # the other commands do without the settings, which take a while to load

    raise typer.Exit(serve(context.args))
