"""Where machine code is kept on disk: beside these sources, or where the user who runs this process may write.

Code that an installation brought along, and that this user may read but not write, is copied to a folder of the user's
own, since numba reads only where it can write. A process that finds no such folder keeps its code in memory.
"""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import stat
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import TypeVar

import numba

FOLDER_MODE = 0o755
"""Others may read what an installation has compiled, and not write it: machine code of theirs would be run."""

_logger = logging.getLogger(__name__)

T = TypeVar("T")


def compile_kept(compiled: Callable[[bool], T]) -> T:
    """Return what `compiled(kept)` does, with machine code kept in the folder if there is one and it can be used.

    A disk that is full or damaged costs time, since code is compiled again that is kept nowhere, and no more.
    """
    folder = code_folder()
    if folder is not None:
        numba.config.CACHE_DIR = str(folder)
        try:
            return compiled(True)
        except OSError as error:
            _note_unusable(folder, str(error))
    return compiled(False)


@cache
def _note_unusable(folder: Path, error: str) -> None:
    """Log, once for each error, that machine code cannot be kept."""
    _logger.warning("a compiled kernel cannot be kept in %s and stays in memory: %s", folder, error)


@cache
def code_folder() -> Path | None:
    """Return the folder that machine code is kept in, None if this user can write nowhere.

    Its name is a digest of the functions that become part of kernels: a change of theirs makes all code anew, where a
    change of a kernel is seen by numba.
    """
    return find_code_folder(Path(__file__).parent)


def find_code_folder(here: Path) -> Path | None:
    """Return the folder for the machine code of the sources in `here`; see `code_folder`."""
    digest = hashlib.sha256()
    for source in sorted((here / "inline").glob("*.py")):
        digest.update(source.read_bytes())
    name = f"kernels-{digest.hexdigest()[:16]}"
    installed = here / "__pycache__" / name
    chosen = next((folder for folder in (installed, *_folders_of_user(name)) if _is_writable(folder)), None)
    if chosen is None:
        _logger.warning(
            "no folder for compiled kernels can be written: each process compiles its own; set XDG_CACHE_HOME to one"
        )
    elif chosen != installed and _is_trusted(installed, here):
        _copy(installed, chosen)
    return chosen


def _folders_of_user(name: str) -> list[Path]:
    """Return the folders to try after the one beside the sources."""
    found = []
    cache_home = os.environ.get("XDG_CACHE_HOME")
    try:
        found.append((Path(cache_home) if cache_home else Path.home() / ".cache") / "adjoint" / name)
    except RuntimeError:  # a user without a home
        _logger.debug("this user has no home directory")
    try:
        found.append(Path(tempfile.gettempdir()) / f"adjoint-{_user()}" / name)
    except FileNotFoundError:
        _logger.debug("there is no folder for temporary files")
    return found


def _copy(source: Path, target: Path) -> None:
    """Copy the files that are not there yet; what cannot be read is compiled again."""
    try:
        shutil.copytree(source, target, dirs_exist_ok=True, copy_function=_copy_missing)
    except (OSError, shutil.Error) as error:
        _logger.warning("the compiled kernels in %s cannot be copied, and are compiled again: %s", source, error)


def _copy_missing(source: str, target: str) -> None:
    if not Path(target).exists():
        # By a name of its own first: another process may be reading, or copying.
        temporary = f"{target}.{os.getpid()}"
        shutil.copyfile(source, temporary)
        Path(temporary).replace(target)


def _user() -> str:
    return str(os.getuid()) if hasattr(os, "getuid") else "user"


def _is_writable(folder: Path) -> bool:
    """Make a folder, if need be; return whether this user may write into it and nobody else has made it."""
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        owner = folder.stat().st_uid
    except OSError:
        return False
    return os.access(folder, os.W_OK | os.X_OK) and (not hasattr(os, "getuid") or owner == os.getuid())


def _is_trusted(folder: Path, here: Path) -> bool:
    """Return whether machine code in a folder may be run: only the owner of these sources can have written it."""
    try:
        found, sources = folder.stat(), here.stat()
    except OSError:
        return False
    return found.st_uid == sources.st_uid and not found.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
