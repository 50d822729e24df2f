"""Exit codes and signals as causes of a process end."""

import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from app.runner.process_status import _descendants, classify_exit, memory_kills, resident_bytes


@pytest.mark.parametrize(
    ("status", "reason", "word"),
    [
        (0, "finished", "by itself"),
        (1, "blas_abort", "linear algebra"),
        (137, "out_of_memory", "memory"),
        (-signal.SIGKILL, "killed", "SIGKILL"),
        (-signal.SIGSEGV, "error", "SIGSEGV"),
        (-signal.SIGBUS, "error", "SIGBUS"),
        (-signal.SIGABRT, "error", "SIGABRT"),
        (-120, "error", "signal 120"),
        (70, "error", "exit code 70"),
    ],
)
def test_the_end_of_a_process_has_a_reason_and_words(status: int, reason: str, word: str) -> None:
    found, detail = classify_exit(status)
    assert found == reason
    assert word in detail


def test_a_process_that_is_killed_when_memory_runs_out_was_killed_by_the_system() -> None:
    assert classify_exit(-signal.SIGKILL, memory_ran_out=True)[0] == "out_of_memory"
    assert classify_exit(-signal.SIGSEGV, memory_ran_out=True)[0] == "error"
    assert "does not report" in classify_exit(-signal.SIGKILL, memory_ran_out=None)[1]


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


# A process with a child, forked by another thread than its first, and a grandchild; all wait for the end of the input.
FAMILY = """
import os, threading

def fork():
    if os.fork() == 0:
        os.fork()
        wait()

def wait():
    os.write(1, b"%d\\n" % os.getpid())
    os.read(0, 1)
    os._exit(0)

forking = threading.Thread(target=lambda: (fork(), os.read(0, 1)))
forking.start()
wait()
"""


def test_the_memory_of_a_worker_is_that_of_all_processes_below_it() -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", FAMILY], **pipes) as worker:  # type: ignore[call-overload]
        pids = [int(worker.stdout.readline()) for _ in range(3)]
        assert {worker.pid, *_descendants(worker.pid)} == set(pids)
        assert resident_bytes(worker.pid) > max(psutil.Process(pid).memory_info().rss for pid in pids)
    assert resident_bytes(worker.pid) == 0
