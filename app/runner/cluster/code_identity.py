"""What must be equal on the server and on all nodes, so that an attempt has the same bits everywhere."""

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import version
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = ("app", "engine")

NAMES: Mapping[str, str] = {
    "python": "Python",
    "numpy": "NumPy",
    "ray": "Ray",
    "code": "Adjoint's code",
}
"""What is compared, and how errors call it."""


@cache
def identity() -> dict[str, str]:
    """Return the versions of this process, and the digest of Adjoint's code."""
    return {
        "python": platform.python_version(),
        "numpy": version("numpy"),
        "ray": version("ray"),
        "code": _code_digest(),
    }


def explain_difference(server: Mapping[str, str], node: Mapping[str, str]) -> str | None:
    """Return what differs on a node, None if nothing does."""
    different = [name for name in NAMES if server.get(name) != node.get(name)]
    if not different:
        return None
    pairs = [f"{NAMES[name]} {node.get(name)} (the server has {server.get(name)})" for name in different]
    return f"it has {', '.join(pairs)}; install the same there"


def _code_digest() -> str:
    found = hashlib.sha256()
    for package in _PACKAGES:
        for path in sorted((_ROOT / package).rglob("*.py")):
            found.update(f"{path.relative_to(_ROOT)}\0".encode())
            found.update(path.read_bytes())
            found.update(b"\0")
    return found.hexdigest()[:16]
