"""What must be equal on the server and on all nodes, so that an attempt has the same bits everywhere."""

import hashlib
import platform
from collections.abc import Mapping
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[3]
_PACKAGES = ("app", "engine")

_WHEELS: Mapping[str, str] = {
    "numpy": "NumPy",
    "numba": "Numba",
    "llvmlite": "llvmlite",
    "ml_dtypes": "ml_dtypes",
    "xoscar": "xoscar",
    "obstore": "obstore",
    "ray": "Ray",
}
"""What computes, and what carries gradients and files between nodes. A machine may lack the optional ones."""

NAMES: Mapping[str, str] = {"python": "Python", **_WHEELS, "code": "Adjoint's code"}
"""What is compared, and how errors call it."""

NOT_INSTALLED = "none"


@cache
def identity() -> dict[str, str]:
    """Return the versions of this process, and the digest of Adjoint's code."""
    wheels = {name: _installed_version(name) for name in _WHEELS}
    return {"python": platform.python_version(), **wheels, "code": _code_digest()}


def _installed_version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED


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
