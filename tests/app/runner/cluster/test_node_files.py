"""The folder that an attempt writes to, and what earlier actors have left on its node."""

import multiprocessing
import os
from pathlib import Path

import pytest

from app.runner.cluster.node_files import StagingFolder

TOKEN = "token-1"


def leave_behind(folder: Path, token: str) -> None:
    """Have a process make the folder of an attempt, write to it, and end without deleting it."""

    def run() -> None:
        (StagingFolder(folder, token).path / "step-1-a").write_bytes(b"of before")
        os._exit(0)

    process = multiprocessing.get_context("fork").Process(target=run)
    process.start()
    process.join()
    assert process.exitcode == 0
    assert (folder / "attempts" / token / "step-1-a").exists()


@pytest.mark.parametrize("token", [TOKEN, "token-2"], ids=["the same attempt", "another attempt"])
def test_what_a_killed_actor_has_left_is_deleted(tmp_path: Path, token: str) -> None:
    leave_behind(tmp_path, token)
    folder = StagingFolder(tmp_path, TOKEN)
    assert [*folder.path.iterdir()] == []
    assert {path.name for path in folder.path.parent.iterdir()} == {TOKEN, f"{TOKEN}.lock"}
    folder.delete()
    assert [*folder.path.parent.iterdir()] == []
