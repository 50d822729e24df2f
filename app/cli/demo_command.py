"""`adjoint demo`: see it work."""

import typer
from rich.console import Console


def demo() -> None:
    """Start a server, train on real data through it, show what came out, and stop it."""
    from app.cli.demo.tour import run

    raise typer.Exit(run(Console()))
