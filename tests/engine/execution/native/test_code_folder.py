"""The folder of machine code: all users use what an installation compiled, also those that may not write."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from engine.execution.native.code_folder import find_code_folder, installed_folder

OTHER = 65534
"""A user who owns nothing."""


@pytest.fixture
def installed() -> Iterator[Path]:
    """Sources that all may read, in a place that all may reach, with code compiled by their owner."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        here = Path(folder) / "native"
        (here / "inline").mkdir(parents=True)
        (here / "inline" / "sums.py").write_text("def total(x): return x\n")
        Path(folder).chmod(0o755)
        (here / "kernel.py").write_text("FAST = {}\n")
        (here / "linked_code.py").write_text("LEVEL = 0\n")
        code = installed_folder(here) / "kernels"
        code.mkdir(parents=True)
        (code / "add.nbc").write_bytes(b"machine code")
        yield here


def as_other_user(function: Callable[[], bool], home: Path) -> bool:
    """Run a function in a process of another user; its result."""
    if os.getuid() != 0:
        pytest.skip("only root can become another user")
    pid = os.fork()
    if pid == 0:
        try:
            os.environ["XDG_CACHE_HOME"] = str(home)
            os.setgroups([])
            os.setgid(OTHER)
            os.setuid(OTHER)
            os._exit(0 if function() else 1)
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def folder_of(user: int, beside: Path) -> Path:
    home = beside.parent / "home"
    home.mkdir()
    os.chown(home, user, user)
    return home


def test_equal_sources_have_one_folder_of_the_user_wherever_they_are(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    copy = Path(shutil.copytree(installed, tmp_path / "elsewhere" / "native"))
    (copy / "inline" / "sums.py").touch()
    found = find_code_folder(copy)
    assert found is not None
    assert found == find_code_folder(installed)
    assert found.is_relative_to(tmp_path / "cache")
    (copy / "inline" / "sums.py").write_text("def total(x): return 0\n")
    assert find_code_folder(copy) != found


def test_another_user_has_a_copy_of_what_the_installation_compiled(installed: Path) -> None:
    home = folder_of(OTHER, installed)

    def is_copied() -> bool:
        found = find_code_folder(installed)
        assert found is not None
        return found.is_relative_to(home) and (found / "kernels" / "add.nbc").read_bytes() == b"machine code"

    assert as_other_user(is_copied, home)


def test_code_that_another_user_may_not_read_is_left_alone(installed: Path) -> None:
    home = folder_of(OTHER, installed)
    (installed / "__pycache__").chmod(0o700)

    def is_empty() -> bool:
        found = find_code_folder(installed)
        return found is not None and found.is_relative_to(home) and not list(found.iterdir())

    assert as_other_user(is_empty, home)


def test_code_that_others_could_have_written_is_left_alone(installed: Path) -> None:
    home = folder_of(OTHER, installed)
    (code,) = (installed / "__pycache__").iterdir()
    code.chmod(0o777)
    os.chown(installed, 1, 1)

    def is_empty() -> bool:
        found = find_code_folder(installed)
        return found is not None and found.is_relative_to(home) and not list(found.iterdir())

    assert as_other_user(is_empty, home)


def test_a_user_who_can_write_nowhere_has_no_folder(
    installed: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def has_none() -> bool:
        monkeypatch.setattr(tempfile, "gettempdir", lambda: str(installed))
        return find_code_folder(installed) is None and "can be written" in caplog.text

    assert as_other_user(has_none, installed)
