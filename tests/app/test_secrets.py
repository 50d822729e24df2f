"""The key is in no log, file, metric, answer or argument, whatever goes wrong. (Incident S25.)"""

import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from tests.support.server import COMMAND, ServerProcess, serving

KEY = "k3y-that-nobody-may-see-7f1d9a"
WRONG = "wr0ng-key-that-nobody-may-see-5c2e"
AS_USER = {"Authorization": f"Bearer {KEY}"}
GRAPH = {"inputs": {"x": ["n"]}, "program": "y = x * 2.0", "outputs": ["y"]}

REQUESTS = {
    "a route that is not there": ("GET", "/v1/nothing", {}),
    "a key in the query": ("GET", f"/v1/system?api_key={KEY}", {}),
    "a key as an id": ("GET", f"/v1/fits/{KEY}", {}),
    "a key in the path": ("GET", f"/{KEY}", {}),
    "a wrong key": ("GET", "/v1/system", {"headers": {"Authorization": f"Bearer {WRONG}"}}),
    "a wrong scheme": ("GET", "/v1/system", {"headers": {"Authorization": f"Basic {KEY}"}}),
    "a foreign host": ("GET", "/v1/system", {"headers": {"Host": f"{KEY}.example.org"}}),
    "a foreign origin": ("POST", "/v1/graphs", {"headers": {"Origin": f"https://{KEY}"}, "json": GRAPH}),
    "JSON that is none": ("POST", "/v1/graphs", {"content": KEY, "headers": {"Content-Type": "application/json"}}),
    "an unknown field": ("POST", "/v1/fits", {"json": {"surplus": KEY}}),
    "a wrong type": ("POST", "/v1/fits", {"json": {"graph": [KEY]}}),
    "another media type": ("POST", "/v1/graphs", {"content": KEY, "headers": {"Content-Type": "text/plain"}}),
    "a method that is not taken": ("DELETE", "/v1/system", {}),
}


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("secrets") / "data"
    with serving(folder, headers=AS_USER, command=COMMAND, api_key=KEY, log_level="debug") as started:
        yield started


def test_a_key_is_shown_to_nobody(guarded: ServerProcess) -> None:
    for what, (method, path, more) in REQUESTS.items():
        answer = guarded.http.request(method, path, **more)
        assert 400 <= answer.status_code < 500 or "query" in what, what
        # A path is repeated as the `instance` of a problem; whoever puts a key there has published it already.
        echoed = "path" in what or "id" in what
        assert echoed or KEY not in answer.text + str(answer.headers), what
        assert WRONG not in answer.text, what
    for path in ("/metrics", "/v1/system", "/readyz", "/openapi.json", "/healthz"):
        assert KEY not in guarded.http.get(path).text, path


def test_a_key_is_in_no_argument_and_no_environment_of_a_worker(guarded: ServerProcess) -> None:
    server = psutil.Process(guarded.process.pid)
    assert KEY not in " ".join(server.cmdline())
    children = server.children(recursive=True)
    assert children
    for child in children:
        assert KEY not in " ".join(child.cmdline())
        assert KEY not in str(child.environ())


def test_a_key_is_in_no_file_and_no_log(guarded: ServerProcess) -> None:
    for method, path, more in REQUESTS.values():
        if KEY not in path:
            guarded.http.request(method, path, **more)
    assert guarded.stop(signal.SIGTERM) == 0
    own = [line for line in guarded.log if f"/{KEY}" not in line and f"={KEY}" not in line]
    assert own
    assert not [line for line in own if KEY in line or WRONG in line]
    files = [path for path in Path(guarded.data_dir).rglob("*") if path.is_file()]
    assert files
    assert not [path for path in files if KEY.encode() in path.read_bytes() or WRONG.encode() in path.read_bytes()]
