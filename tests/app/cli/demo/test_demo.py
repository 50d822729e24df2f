import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

import pytest

from tests.extent import FULL
from tests.support.patience import PATIENCE

ROOT = Path(__file__).parents[4]


def enable_interrupts():
    """Let a process heed Ctrl-C, though the tests may have been started in the background, where nobody does."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def demo(tmp_path):
    return subprocess.Popen(
        [sys.executable, "-m", "app", "demo"],
        cwd=ROOT,
        # A key and a port of one's own server must not get into the way of the demo's.
        env={**os.environ, "TMPDIR": str(tmp_path), "ADJOINT_API_KEY": "other", "ADJOINT_PORT": "1", "COLUMNS": "120"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=enable_interrupts,
    )


def address(line):
    return re.search(r"http://\S+", line)[0]


def check_nothing_is_left(tmp_path, url):
    assert list(tmp_path.glob("adjoint-demo-*")) == []
    with pytest.raises(urllib.error.URLError, match="refused"):
        urllib.request.urlopen(f"{url}/healthz")


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM] if FULL else [signal.SIGINT])
def test_an_interrupted_demo_leaves_nothing_behind(tmp_path, stop):
    with demo(tmp_path) as process:
        url = address(process.stdout.readline())
        process.send_signal(stop)
        text, errors = process.communicate(timeout=PATIENCE)
    assert process.returncode == 130
    assert "stopped" in text
    assert "Traceback" not in errors
    check_nothing_is_left(tmp_path, url)
