"""The installed wheels, owned by root and read-only, in the hands of a user who may write the data directory alone."""

import json
import os
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

import engine
from tests.deploy.exercise import FITS, begin, go_on
from tests.extent import FULL
from tests.installed.conftest import Installation
from tests.support.server import LAUNCH, serving

USER = 10001
NATIVE = "native" in engine.executors()
WAYS = {about: way for about, way in FITS.items() if FULL or about != "half precision"}
"""That one compiles kernels of its own; `make image-test` has it as well."""

DENY = """
import ctypes, os
if os.environ.pop("DENY", None):
    assert ctypes.CDLL(None).prctl(65, 1, 0, 0, 0) == 0  # PR_SET_MDWE, as systemd's MemoryDenyWriteExecute
"""
"""Has the system let the server, and all that it starts, make no code."""

PLACES = {
    "a folder for kernels": {"XDG_CACHE_HOME": "{data}/cache"},
    **({"no folder for kernels": {}, "no memory for kernels": {"DENY": "1"}} if FULL else {}),
}


@pytest.fixture(scope="module")
def installed(installation: Installation) -> Iterator[Path]:
    """What root has installed, with kernels compiled beside it, where all may read."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        folder = Path(name)
        folder.chmod(0o755)
        target = folder / "installed"
        shutil.copytree(installation.site, target, ignore=shutil.ignore_patterns("*.pth"))
        if NATIVE:
            compiling = [*_python(target, "")[:-2], "-m", "engine.execution.native", "--common", "--shared"]
            subprocess.run(compiling, check=True, stdout=subprocess.DEVNULL)
        yield target


def _python(installed: Path, code: str) -> list[str]:
    """Return a command that runs code with what is installed, instead of with the sources that are tested otherwise."""
    return ["env", f"PYTHONPATH={installed}", "PYTHONDONTWRITEBYTECODE=1", sys.executable, "-P", "-c", code]


@pytest.fixture
def command(installed: Path) -> Iterator[list[str]]:
    """A server as another user, without rights, on a read-only root where mounts are permitted."""
    data = installed.parent / "data"
    data.mkdir()
    os.chown(data, USER, USER)
    rights = ["--bounding-set=-all", "--no-new-privs", "--clear-groups", f"--reuid={USER}", f"--regid={USER}"]
    as_user = ["setpriv", *rights, *_python(installed, DENY + LAUNCH)]
    hidden = {path: barrier for path in (sys.base_prefix, sys.prefix) if (barrier := _barrier(Path(path)))}
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode == 0:
        steps = [*_uncovered(hidden, installed.parent), f"mount --bind {data} {data}", "mount -o remount,bind,ro /"]
        script = " && ".join([*steps, f"cd {data}", 'exec "$@"'])
        as_user = ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh", *as_user]
    elif hidden:
        pytest.skip("others may not use this Python, and no mounts are permitted")
    yield as_user
    shutil.rmtree(data)


def _barrier(path: Path) -> Path | None:
    """Return the folder around a path that others may not enter, None if there is none."""
    return next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & stat.S_IXOTH), None)


def _uncovered(hidden: Mapping[str, Path], folder: Path) -> Iterator[str]:
    """Yield commands that show others what is hidden, each at its place, and nothing else of what is around it."""
    holders = {path: folder / f"holder-{number}" for number, path in enumerate(hidden)}
    for path, holder in holders.items():
        holder.mkdir(exist_ok=True)
        yield f"mount --bind {path} {holder}"
    for barrier in sorted(set(hidden.values())):
        yield f"mount -t tmpfs -o mode=755 none {barrier}"
    for path, holder in holders.items():
        yield f"mkdir -p {path} && mount --move {holder} {path}"


@pytest.mark.slow
@pytest.mark.parametrize("place", PLACES)
def test_another_user_trains_with_what_root_has_installed(installed: Path, command: list[str], place: str) -> None:
    data, executor = installed.parent / "data", "native" if NATIVE and "DENY" not in PLACES[place] else "numpy"
    given = {name: text.format(data=data) for name, text in PLACES[place].items()}
    environment = {"HOME": "/nonexistent", "TMPDIR": "/nonexistent", **given}
    with serving(data, command=command, environment=environment) as server:
        begun = begin(server.url, executor=executor, ways=WAYS)
    entries = [json.loads(line) for line in server.log]
    assert all(entry["level"] == "warning" for entry in entries), entries
    assert place != "a folder for kernels" or not entries, entries
    with serving(data, command=command, environment=environment) as server:
        go_on(server.url, begun, executor=executor)
    assert {path.stat().st_uid for path in installed.rglob("*")} == {0}
