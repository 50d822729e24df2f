"""`adjoint serve`: run the server until it is stopped."""

import argparse
import sys
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from app.config.settings import Settings
from app.system.imports import importing

REFUSED = 2
"""Exit status of a server that cannot be started as asked."""

_OPTIONS: dict[str, dict[str, Any]] = {
    "host": {"metavar": "ADDRESS"},
    "port": {"type": int, "metavar": "N"},
    "data_dir": {"metavar": "FOLDER"},
    "workers": {"type": int, "metavar": "N"},
    "adopt_empty": {"action": "store_true", "default": None},
}


def serve(arguments: Sequence[str]) -> int:
    """Run a server set up by `arguments` and the environment; 0 once it has stopped, `REFUSED` if it cannot start.

    Prints `Adjoint listening on http://...` to standard output, and nothing else, once requests are answered.
    """
    given = {name: value for name, value in vars(parser().parse_args(arguments)).items() if value is not None}
    try:
        settings = Settings(**given)
    except ValidationError as error:
        return _refuse("; ".join(_fault(fault) for fault in error.errors(include_url=False, include_input=False)))
    return _run(settings)


def parser() -> argparse.ArgumentParser:
    """The options, with their descriptions and defaults as the settings have them."""
    made = argparse.ArgumentParser(
        prog="adjoint serve",
        description="Run the server until Ctrl-C.",
        epilog="Everything else is set by the environment, as ADJOINT_API_KEY; an option wins over its variable.",
    )
    for name, options in _OPTIONS.items():
        field = Settings.model_fields[name]
        default = "" if field.default_factory else f" (default {field.default})"
        made.add_argument(f"--{name.replace('_', '-')}", help=f"{field.description}{default}", **options)
    return made


def _run(settings: Settings) -> int:
    # Only now: wrong settings are reported at once, before the web framework is loaded.
    with importing():
        from app.domain.errors import ApiError
        from app.main.application import run

    try:
        return run(settings, on_ready=_announce)
    except ApiError as error:
        return _refuse(error.detail)
    except OSError as error:
        return _refuse(_obstacle(settings, error))


def _obstacle(settings: Settings, error: OSError) -> str:
    why = error.strerror or str(error)
    if error.filename is not None:  # only files have one: sockets do not
        return f"cannot use the data directory {settings.data_dir} ({why}: {error.filename}); choose another"
    return (
        f"cannot listen on {settings.host} port {settings.port} ({why}); choose another port with --port, or 0 for any"
    )


def _announce(url: str) -> None:
    sys.stdout.write(f"Adjoint listening on {url}\n")
    sys.stdout.flush()


def _fault(fault: Any) -> str:
    message = fault["msg"].removeprefix("Value error, ")
    return ": ".join([*map(str, fault["loc"]), message])


def _refuse(why: str) -> int:
    sys.stderr.write(f"adjoint: {why}\n")
    return REFUSED
