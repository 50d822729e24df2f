"""Constants of the sources, some of which Hypothesis draws: each file is read by one process of xdist, not by all."""

from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = ("app", "clients", "engine", "tools")


def read_share(config: pytest.Config) -> None:
    """Read the constants of some files, which Hypothesis stores, so that other processes find them when they look.

    It looks for those of all modules once tests are collected, which takes 3 s of each process where none are stored.
    """
    worker = getattr(config, "workerinput", None)
    if worker is None:
        return
    from hypothesis.internal.constants_ast import constants_from_module

    place, count = int(worker["workerid"].removeprefix("gw")), worker["workercount"]
    files = sorted(file for source in SOURCES for file in (ROOT / source).rglob("*.py"))
    for file in files[place % count :: count]:
        module = ModuleType(file.stem)
        module.__file__ = str(file)
        constants_from_module(module)
