"""Test modules compiled with their assertions rewritten: each by one of the processes that collect them, not by all."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from _pytest.assertion import rewrite

TESTS = Path(__file__).parents[1]


def rewrite_share(config: pytest.Config) -> None:
    """Compile what this process of xdist has to, so that it finds what the others compile meanwhile in files.

    They all collect the same modules in the same order: without this each would compile every module itself.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None or sys.dont_write_bytecode:
        return
    place, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    for path in sorted(TESTS.rglob("test_*.py"))[place % count :: count]:
        _compile(path, config)


def _compile(path: Path, config: pytest.Config) -> None:
    """Write the file that pytest looks for when it imports this module, unless it is there."""
    state = config.stash[rewrite.assertstate_key]
    folder = rewrite.get_cache_dir(path)
    file = folder / (path.stem + rewrite.PYC_TAIL)
    if rewrite._read_pyc(path, file, state.trace) is None and rewrite.try_makedirs(folder):
        with suppress(SyntaxError):  # reported where it is imported
            source, code = rewrite._rewrite_test(path, config)
            rewrite._write_pyc(state, code, source, file)
