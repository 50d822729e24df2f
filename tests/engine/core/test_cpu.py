"""How many cores a process may use."""

import os
from pathlib import Path

import pytest

import engine
from engine.core import cpu as cores

V1 = {"cpu/cpu.cfs_quota_us": "150000\n", "cpu/cpu.cfs_period_us": "100000\n"}
QUOTAS: dict[str, tuple[dict[str, str], str, float | None]] = {
    "none anywhere": ({}, "0::/\n", None),
    "unlimited": ({"cpu.max": "max 100000\n"}, "0::/\n", None),
    "a container's": ({"cpu.max": "250000 100000\n"}, "0::/\n", 2.5),
    "a service's": ({"system/adjoint/cpu.max": "50000 100000\n"}, "0::/system/adjoint\n", 0.5),
    "the least of those around": ({"a/cpu.max": "100000 100000", "a/b/cpu.max": "300000 100000"}, "0::/a/b\n", 1.0),
    "version 1": (V1, "4:cpu,cpuacct:/\n", 1.5),
    "version 1 without one": ({**V1, "cpu/cpu.cfs_quota_us": "-1\n"}, "4:cpu:/\n", None),
    "version 1, of a group": (
        {"cpu/docker/7/cpu.cfs_quota_us": "200000", "cpu/docker/7/cpu.cfs_period_us": "100000"},
        "4:cpu:/docker/7\n1:name=systemd:/\n",
        2.0,
    ),
    "damaged": ({"cpu.max": "lots\n"}, "what\n0::/../..\n", None),
}


@pytest.mark.parametrize("name", QUOTAS)
def test_a_quota_is_read_from_the_control_groups(tmp_path: Path, name: str) -> None:
    files, membership, quota = QUOTAS[name]
    for path, text in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text)
    (tmp_path / "membership").write_text(membership)
    assert cores.cpu_quota(tmp_path, tmp_path / "membership") == quota


def test_without_a_membership_file_only_the_mounted_group_counts(tmp_path: Path) -> None:
    (tmp_path / "cpu.max").write_text("100000 50000\n")
    assert cores.cpu_quota(tmp_path, tmp_path / "nothing") == 2.0


@pytest.mark.parametrize(("quota", "usable"), [(None, 4), (2.9, 2), (0.2, 1), (16.0, 4)])
def test_usable_cores_are_those_bound_to_within_the_quota(
    monkeypatch: pytest.MonkeyPatch, quota: float | None, usable: int
) -> None:
    monkeypatch.setattr(cores, "usable_cpus", lambda: (0, 2, 4, 6))
    monkeypatch.setattr(cores, "cpu_quota", lambda: quota)
    assert engine.usable_cores() == usable


def test_the_cpus_are_those_that_the_process_is_bound_to() -> None:
    assert set(engine.usable_cpus()) == os.sched_getaffinity(0)
