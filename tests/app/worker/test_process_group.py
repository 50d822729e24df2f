import os
import subprocess
import sys
from pathlib import Path

import app

ADOPT = """
import os
from app.worker.process_group import become_subreaper
become_subreaper()
read, write = os.pipe()
child = os.fork()
if child == 0:
    if os.fork() == 0:
        os.close(write)
        os.read(read, 1)
        os._exit(3)
    os._exit(0)
os.waitpid(child, 0)
os.close(write)
print(os.waitstatus_to_exitcode(os.waitpid(-1, 0)[1]))
"""

BORN_TO = """
import os
from app.worker.process_group import exit_with_parent
print(exit_with_parent(os.getppid()), exit_with_parent(os.getppid() + 1))
"""


def said_by(code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": str(Path(app.__file__).parents[1])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    return done.stdout


def test_a_grandchild_whose_parent_ended_is_buried_by_who_adopts() -> None:
    assert said_by(ADOPT) == "3\n"


def test_a_process_whose_parent_is_another_by_now_gets_an_error() -> None:
    assert said_by(BORN_TO) == "True False\n"
