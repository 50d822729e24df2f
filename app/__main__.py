"""The command line: `adjoint`, or `python -m app`."""

import sys
from collections.abc import Sequence

from app.system.imports import importing


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command in `arguments` (by default those of the process) and return the exit status."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    # A server starts without what only people at a terminal need: half of its start-up time and memory otherwise.
    if arguments[:1] == ["serve"]:
        with importing():
            from app.cli.serve import serve

        return serve(arguments[1:])
    with importing():
        from app.cli.commands import run

    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
