import subprocess
import sys
from pathlib import Path

import pytest

from app.domain.errors import DataDirectoryInUse
from app.store.data_directory import FILE_NAME, data_directory_lock

SECONDS = 60

HOLD_UNTIL_KILLED = """
import pathlib, sys
from app.store.data_directory import data_directory_lock
with data_directory_lock(pathlib.Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_server_on_the_same_data_directory_is_refused_until_the_first_is_dead(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD_UNTIL_KILLED, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        for _ in range(2):
            with (
                pytest.raises(DataDirectoryInUse, match=r"another server.*ADJOINT_DATA_DIR"),
                data_directory_lock(tmp_path),
            ):
                pass
            (tmp_path / FILE_NAME).unlink(missing_ok=True)  # as somebody does who takes it for left over
        process.kill()
        process.wait(SECONDS)
    with data_directory_lock(tmp_path):
        pass


def test_the_lock_is_free_after_its_block(tmp_path: Path) -> None:
    for _ in range(2):
        with data_directory_lock(tmp_path / "new"):
            pass


def test_data_directories_do_not_lock_each_other(tmp_path: Path) -> None:
    with data_directory_lock(tmp_path / "a"), data_directory_lock(tmp_path / "b"):
        pass
