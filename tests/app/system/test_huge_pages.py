"""Memory that is moved to huge pages holds what it held."""

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SCRIPT = """
from hashlib import sha256
from pathlib import Path
from app.system.huge_pages import collapse_heap

def huge():
    rollup = Path("/proc/self/smaps_rollup").read_text().split()
    return int(rollup[rollup.index("AnonHugePages:") + 1])

held = [bytes([n % 251]) * 4000 for n in range(8000)]
before = huge()
steps = sum(1 for _ in collapse_heap())
print(huge() - before, steps, sha256(b"".join(held)).hexdigest())
"""
HELD = sha256(b"".join(bytes([n % 251]) * 4000 for n in range(8000))).hexdigest()


def test_the_heap_moves_to_huge_pages_and_holds_what_it_held() -> None:
    if sys.platform != "linux" or not Path("/sys/kernel/mm/transparent_hugepage").is_dir():
        pytest.skip("needs Linux with transparent huge pages")
    done = subprocess.run([sys.executable, "-c", SCRIPT], cwd=ROOT, capture_output=True, text=True, check=True)
    moved_kib, steps, digest = done.stdout.split()
    assert digest == HELD
    assert int(steps) >= 8
    if _kernel() < (6, 1):
        pytest.skip("needs Linux 6.1")
    assert int(moved_kib) >= 16 * 1024


def _kernel() -> tuple[int, ...]:
    release = Path("/proc/sys/kernel/osrelease").read_text()
    return tuple(int(number) for number in release.split("-")[0].split(".")[:2])
