"""Which version of the server this is."""

from importlib.metadata import PackageNotFoundError, version

DISTRIBUTION = "adjoint-server"


def server_version() -> str:
    """Return the version of this server, 0 when it runs from a tree that is not installed."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "0"
