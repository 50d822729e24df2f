"""Limits that a process sets on itself; each test has one of its own, since they cannot be raised again."""

import os
import resource
import subprocess
import sys
from pathlib import Path

import pytest

from app.runner.process_status import BLAS_ABORT, classify_exit
from app.system.confinement import address_space_bytes, room_to_map, widen

MIB = 1024**2
START = """
import resource, sys
import numpy as np
from app.system.confinement import Confinement, address_space_bytes, room_to_map, widen
MIB = 1024**2
present = address_space_bytes()
def limit(name):
    return resource.getrlimit(getattr(resource, "RLIMIT_" + name))
"""


def confined(script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {"PYTHONPATH": os.pathsep.join(sys.path), "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, "-P", "-c", START + script, *arguments]
    return subprocess.run(command, capture_output=True, text=True, env=environment, check=False)


def said(script: str, *arguments: str) -> list[str]:
    done = confined(script, *arguments)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_what_is_beyond_the_memory_is_a_memory_error_and_the_process_goes_on() -> None:
    script = """
Confinement(memory_bytes=present + 64 * MIB).enter()
np.ones(32 * MIB, "u1")
try:
    np.zeros(128 * MIB, "u1")
except MemoryError:
    print("refused")
widen(128 * MIB)
print(np.zeros(128 * MIB, "u1").size)
"""
    assert said(script) == ["refused", str(128 * MIB)]


def test_only_a_map_has_more_space_and_no_more_than_was_left_for_it() -> None:
    script = """
Confinement(memory_bytes=present + MIB, most_memory_bytes=present + 3 * MIB).enter()
print((limit("AS")[0] - present) // MIB, (limit("AS")[1] - present) // MIB)
with room_to_map(MIB):
    print((limit("AS")[0] - present) // MIB)
with room_to_map(100 * MIB):
    print((limit("AS")[0] - present) // MIB)
print((limit("AS")[0] - present) // MIB)
"""
    assert said(script) == ["1", "3", "2", "3", "1"]


def test_files_cpu_time_and_core_dumps_are_bounded_and_the_rest_is_left(tmp_path: Path) -> None:
    script = """
before = limit("NOFILE"), limit("AS")
Confinement(file_bytes=MIB, cpu_seconds=50).enter()
print(limit("FSIZE") == (MIB, MIB), limit("CPU") == (50, 50), limit("CORE") == (0, 0))
print((limit("NOFILE"), limit("AS")) == before)
try:
    with open(sys.argv[1], "wb", buffering=0) as file:
        file.write(bytes(MIB))
        file.write(b"1")
except OSError as error:
    print(error.errno)
Confinement(file_bytes=2 * MIB).enter()
print(limit("FSIZE") == (MIB, MIB))
"""
    assert said(script, str(tmp_path / "file")) == ["True"] * 4 + ["27", "True"]


def test_a_product_that_finds_no_memory_ends_the_process_in_a_way_that_is_known_for_it() -> None:
    blas = confined("print(np.show_config(mode='dicts')['Build Dependencies']['blas']['name'])").stdout
    if "openblas" not in blas:
        pytest.skip("another library fails in other ways")
    script = """
matrix, product = np.ones((600, 600), "f4"), np.empty((600, 600), "f4")
Confinement(memory_bytes=address_space_bytes() + MIB).enter()
np.matmul(matrix, matrix, out=product)
"""
    done = confined(script)
    assert done.returncode == BLAS_ABORT, done.stderr
    assert classify_exit(done.returncode)[0] == "blas_abort"


def test_where_nothing_is_bounded_nothing_has_to_be_widened(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS)
    assert before[0] == resource.RLIM_INFINITY
    widen(MIB)
    with room_to_map(MIB):
        assert resource.getrlimit(resource.RLIMIT_AS) == before
    monkeypatch.setattr("app.system.confinement.STATM", Path("/nowhere"))
    assert address_space_bytes() is None
