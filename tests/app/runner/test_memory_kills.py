from pathlib import Path

import pytest

from app.runner.memory_kills import memory_kills

VMSTAT = "pgfault 12\noom_kill 3\nunevictable_pgs_culled 0\n"


def tree(root: Path, files: dict[str, str]) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content)
    return root


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({}, None),
        ({"proc/vmstat": "pgfault 12\n"}, None),
        ({"proc/vmstat": VMSTAT}, 3),
        ({"proc/vmstat": VMSTAT, "proc/self/cgroup": "0::/\n"}, 3),
        (
            {
                "proc/vmstat": VMSTAT,
                "proc/self/cgroup": "0::/a/b\n",
                "sys/fs/cgroup/a/b/memory.events": "low 0\noom 2\noom_kill 1\noom_group_kill 0\n",
            },
            1,
        ),
        (
            {
                "proc/vmstat": VMSTAT,
                "proc/self/cgroup": "5:cpu,memory:/a\n4:pids:/a\n",
                "sys/fs/cgroup/memory/a/memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 2\n",
            },
            2,
        ),
    ],
    ids=["unknown system", "old kernel", "machine", "root group", "group", "older group"],
)
def test_the_narrowest_count_that_there_is_counts(tmp_path: Path, files: dict[str, str], expected: int | None) -> None:
    assert memory_kills(tree(tmp_path, files)) == expected


def test_this_system_can_be_asked() -> None:
    assert (memory_kills() or 0) >= 0
