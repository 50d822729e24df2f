"""Where machine code is kept on disk: in a folder of the user, named by digests of the sources it was compiled from.

All checkouts and environments of a user share it, since neither their paths nor the times of their files count: equal
sources give equal code. Code that an installation has for all users (`share_code`) is copied there when it is first
needed, since numba reads only where it can write. A process that finds no folder keeps its code in memory.
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

import llvmlite.binding
import numba
from numba.core.caching import UserProvidedCacheLocator

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
        numba.config.CACHE_LOCATOR_CLASSES = f"{__name__}.{SourceLocator.__name__}"
        try:
            return compiled(True)
        except OSError as error:
            _note_unusable(folder, str(error))
    return compiled(False)


@cache
def _note_unusable(folder: Path, error: str) -> None:
    """Log, once for each error, that machine code cannot be kept."""
    _logger.warning("a compiled kernel cannot be kept in %s and stays in memory: %s", folder, error)


class SourceLocator(UserProvidedCacheLocator):  # type: ignore[misc] # numba has no types
    """Tells numba where the code of a function is: in a subfolder named by the file and the digest of its contents."""

    def __init__(self, py_func: Callable[..., object], py_file: str) -> None:
        """Find the subfolder of a function that is defined in `py_file`."""
        super().__init__(py_func, py_file)
        self._stamp = _digest_of(py_file)
        self._cache_path = str(Path(numba.config.CACHE_DIR) / _subfolder(py_file))

    def get_source_stamp(self) -> str:
        """Return what numba compares with the stamp that the code was kept with."""
        return self._stamp


@cache
def _digest_of(file: str) -> str:
    return hashlib.sha256(Path(file).read_bytes()).hexdigest()


def _subfolder(file: str) -> str:
    return f"{Path(file).stem}-{_digest_of(file)[:16]}"


@cache
def code_folder() -> Path | None:
    """Return the folder that machine code is kept in, None if this user can write nowhere.

    Its name is a digest of the compiler, the processor and the functions that become part of kernels: when one of them
    changes, all code is compiled again. When a file of kernels changes, the code of that file is.
    """
    return find_code_folder(Path(__file__).parent)


def kept_code() -> frozenset[str]:
    """Return the names (`Kernel.code_name`) of the code in the folder, which takes milliseconds to load."""
    folder = code_folder()
    if folder is None:
        return frozenset()
    subfolders = [folder / _subfolder(str(source)) for source in Path(__file__).parent.rglob("*.py")]
    found = [path.name for subfolder in subfolders for path in subfolder.glob("*.nbi")]
    return frozenset(name.partition(".")[2].partition("-")[0] for name in found)


def find_code_folder(here: Path) -> Path | None:
    """Return the folder for the machine code of the sources in `here`; see `code_folder`."""
    installed = installed_folder(here)
    name = installed.name
    chosen = next((folder for folder in (*_folders_of_user(name), installed) if _is_writable(folder)), None)
    if chosen is None:
        _logger.warning(
            "no folder for compiled kernels can be written: each process compiles its own; set XDG_CACHE_HOME to one"
        )
    elif chosen != installed and _is_trusted(installed, here):
        _copy(installed, chosen)
    return chosen


def share_code() -> Path | None:
    """Copy this user's machine code beside the sources, for all users of an installation; return the folder.

    Returns None if this user has no folder or may not write there.
    """
    own, shared = code_folder(), installed_folder(Path(__file__).parent)
    if own is None or not _is_writable(shared):
        return None
    if own != shared:
        _copy(own, shared)
    return shared


def installed_folder(here: Path) -> Path:
    """Return the folder beside the sources in `here`, whether it exists or not."""
    processor = f"{llvmlite.binding.get_host_cpu_name()} {llvmlite.binding.get_host_cpu_features().flatten()}"
    digest = hashlib.sha256(f"{numba.__version__} {llvmlite.__version__} {processor}".encode())
    for source in (here / "kernel.py", here / "linked_code.py", *sorted((here / "inline").glob("*.py"))):
        digest.update(source.read_bytes())
    return here / "__pycache__" / f"kernels-{digest.hexdigest()[:16]}"


def _folders_of_user(name: str) -> list[Path]:
    """Return the folders to try, the best first."""
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
    """Create a folder if it is missing; return whether this user owns it and may write into it."""
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
