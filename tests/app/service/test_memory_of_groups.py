"""The memory that a control group leaves, whichever version of the hierarchy it is in, and wherever it is mounted."""

import os
from pathlib import Path

import pytest

from app.service.resources.memory import memory_budget, memory_left

LIMIT = 64 * 1024**2
UNLIMITED = 9223372036854771712
V2 = {"memory.max": LIMIT, "memory.current": 50 * 1024**2, "memory.stat": "anon 1\ninactive_file 1048576\n"}
V1 = {
    "memory.limit_in_bytes": LIMIT,
    "memory.usage_in_bytes": 50 * 1024**2,
    "memory.stat": "inactive_file 5\ntotal_inactive_file 1048576\n",
}
ANY_V1 = {"memory.limit_in_bytes": UNLIMITED, "memory.usage_in_bytes": 1}
CASES = {
    "a container": ("0::/", {"": V2}),
    "a container without a name space": ("0::/docker/abc", {"": V2}),
    "a service": ("0::/system.slice/adjoint.service", {"system.slice/adjoint.service": V2}),
    "a slice around": ("0::/a/b", {"a": V2, "a/b": {"memory.max": "max", "memory.current": 1}}),
    "an older container": ("4:cpu,memory:/\n0::/", {"memory": V1}),
    "an older container without a name space": ("4:memory:/docker/abc\n0::/", {"memory": V1}),
    "an older service": ("4:memory:/a/b\n0::/", {"memory": ANY_V1, "memory/a": ANY_V1, "memory/a/b": V1}),
}
NONE = {
    "no groups": ("", {}),
    "no limit": ("0::/a", {"a": {"memory.max": "max", "memory.current": 1}}),
    "no limit of the older kind": ("4:memory:/a\n0::/", {"memory/a": ANY_V1}),
    "groups of another kind": ("3:cpu:/a\nnonsense", {"memory/a": V1, "a": V2}),
}
Groups = tuple[str, dict[str, dict[str, object]]]


def tree(root: Path, groups: Groups) -> Path:
    membership, folders = groups
    files = {
        f"sys/fs/cgroup/{folder}/{name}": text for folder, named in folders.items() for name, text in named.items()
    }
    for name, text in {"proc/self/cgroup": membership, **files}.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"{text}\n")
    return root


@pytest.mark.parametrize("case", CASES)
def test_the_smallest_limit_around_a_process_counts(tmp_path: Path, case: str) -> None:
    root = tree(tmp_path, CASES[case])
    assert memory_budget(root) == int(0.7 * LIMIT)
    assert memory_left(root) == 15 * 1024**2


@pytest.mark.parametrize("case", NONE)
def test_without_a_limit_it_is_what_the_machine_has(tmp_path: Path, case: str) -> None:
    root = tree(tmp_path, NONE[case])
    assert memory_budget(root) == int(0.7 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    assert (memory_left(root) or LIMIT) > LIMIT / 2
