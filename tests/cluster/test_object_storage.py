"""A whole server whose datasets and checkpoints are in S3: what it stores, what it waits for, what it refuses."""

import hashlib
import io
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from adjoint_client import Client
from app.store.objects.address import read_address
from app.store.objects.client import PART_BYTES, SMALL_BYTES, ObjectClient
from app.store.objects.identity import ORPHANS
from app.store.objects.keys import list_blobs, object_key
from tests.app.test_storage import FIT, ROWS, created
from tests.support import seaweed
from tests.support.journal import until_logged
from tests.support.patience import LONGEST_WAIT, PATIENCE
from tests.support.seaweed import CREDENTIALS, Relay
from tests.support.server import StartServer, run_command

pytestmark = pytest.mark.skipif(bool(seaweed.MISSING), reason=seaweed.MISSING)

STEPS: dict[str, Any] = {**FIT, "steps": 60, "checkpoint": {"every_steps": 20, "keep_last": 2}}
ENDLESS = {**FIT, "epochs": 1_000_000, "checkpoint": {"every_steps": 20, "keep_last": 2}, "record": {"every_steps": 1}}


@pytest.fixture
def client(blob_url: str, monkeypatch: pytest.MonkeyPatch) -> ObjectClient:
    for name, value in CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    return ObjectClient(read_address(blob_url))


def stored(client: ObjectClient) -> set[str]:
    return {entry.key.rpartition("/")[2] for entry in list_blobs(client)}


def eventually(what: str, holds: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE
    while not holds():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def ended(http: httpx.Client, fit_id: str) -> dict[str, Any]:
    fit: dict[str, Any] = http.get(f"/v1/fits/{fit_id}", params={"wait": LONGEST_WAIT}).json()
    return fit


def test_downloads_are_redirected_where_the_operator_allows_it(
    start_server: StartServer, tmp_path: Path, blob_url: str
) -> None:
    key = "a-key-of-an-operator"
    server = start_server(
        blob_url=blob_url, environment=CREDENTIALS, blob_redirect_seconds=60, api_key=key,
        headers={"Authorization": f"Bearer {key}"},
    )  # fmt: skip
    dataset = created(server.http.post("/v1/datasets", json={"name": "rows", **ROWS}))
    fit = created(server.http.post("/v1/fits", json={**STEPS, "dataset": dataset["id"]}))
    assert ended(server.http, fit["id"])["state"] == "succeeded"
    checkpoint = server.http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    place = f"/v1/checkpoints/{checkpoint['id']}/content"
    redirect = server.http.get(place)
    assert redirect.status_code == 307
    content = httpx.get(redirect.headers["Location"]).content  # with no key
    assert hashlib.sha256(content).hexdigest() == checkpoint["digest"]
    assert server.http.get(f"/v1/datasets/{dataset['id']}/content").status_code == 307
    assert server.http.head(place).headers["Content-Length"] == str(len(content))
    assert server.http.get(place, headers={"If-None-Match": f'"{checkpoint["digest"]}"'}).status_code == 304
    with Client(server.url, key) as python:
        assert python.get_checkpoint(checkpoint["id"]).download(tmp_path / "file").read_bytes() == content
    assert not any("X-Amz-Signature" in line for line in server.log)


def test_a_killed_server_without_copies_comes_to_the_bits_of_one_with_a_folder(
    start_server: StartServer, tmp_path: Path, blob_url: str
) -> None:
    long = {**FIT, "steps": 20_000, "seed": 7, "record": {"every_steps": 100}}
    long["checkpoint"] = {"every_steps": 500, "keep_last": 2}
    undisturbed = start_server(tmp_path / "folder").http
    expected = created(undisturbed.post("/v1/fits", json=long))
    server = start_server(tmp_path / "bucket", blob_url=blob_url, environment=CREDENTIALS)
    fit = created(server.http.post("/v1/fits", json=long))
    latest = f"/v1/fits/{fit['id']}/checkpoints/latest"
    eventually("no checkpoint was stored", lambda: server.http.get(latest).status_code == 200)
    server.stop(signal.SIGKILL)
    shutil.rmtree(tmp_path / "bucket" / "cache")
    again = start_server(tmp_path / "bucket", blob_url=blob_url, environment=CREDENTIALS).http
    found = []
    for http, fit_id in ((undisturbed, expected["id"]), (again, fit["id"])):
        assert ended(http, fit_id)["state"] == "succeeded"
        rows = http.get(f"/v1/fits/{fit_id}/metrics", params={"limit": 1000}).json()["data"]
        checkpoint = http.get(f"/v1/fits/{fit_id}/checkpoints/latest").json()["id"]
        parameters = http.get(f"/v1/checkpoints/{checkpoint}/content", params={"only": "parameters"}).content
        found.append((rows, parameters))
    assert again.get(f"/v1/fits/{fit['id']}").json()["attempt"] == 2
    assert len(found[0][0]) == 200
    assert found[0] == found[1]


@pytest.mark.parametrize(
    "outage",
    [
        pytest.param(Relay.refuse, id="refused"),
        pytest.param(Relay.hold, id="silent"),
        pytest.param(Relay.tear, id="torn"),
        pytest.param(Relay.trickle, id="slow", marks=pytest.mark.rare),  # it waits for time limits, for half a minute
    ],
)
def test_a_fit_waits_while_the_storage_is_away_and_goes_on_by_itself(
    start_server: StartServer, blob_url: str, relay: Relay, outage: Callable[[Relay], None]
) -> None:
    http = start_server(blob_url=blob_url, environment=CREDENTIALS).http
    fit_id = created(http.post("/v1/fits", json=ENDLESS))["id"]
    latest = f"/v1/fits/{fit_id}/checkpoints/latest"
    eventually("no checkpoint was stored", lambda: http.get(latest).status_code == 200)
    outage(relay)
    until_logged(http, fit_id, "storage_unavailable")
    refused = http.post("/v1/datasets", json={"name": "other", "columns": {"z": [1.5, 2.5]}})
    assert (refused.status_code, refused.json()["code"]) == (503, "storage_unavailable")
    assert int(refused.headers["Retry-After"]) > 0
    eventually("the server is ready without its storage", lambda: http.get("/readyz").status_code == 503)
    fit = http.get(f"/v1/fits/{fit_id}").json()
    assert (fit["state"], fit["phase"], fit["attempt"]) == ("running", "waiting_for_storage", 1)
    before = http.get(latest).json()["step"]
    relay.pass_on()
    eventually("the fit did not go on", lambda: http.get(latest).json()["step"] > before)
    eventually("the server is not ready again", lambda: http.get("/readyz").status_code == 200)
    created(http.post("/v1/datasets", json={"name": "other", "columns": {"z": [1.5, 2.5]}}))
    assert http.get(f"/v1/fits/{fit_id}").json()["attempt"] == 1
    http.post(f"/v1/fits/{fit_id}:cancel").raise_for_status()
    assert ended(http, fit_id)["state"] == "cancelled"


def test_a_queued_fit_waits_for_its_files_while_others_start(
    start_server: StartServer, tmp_path: Path, blob_url: str, relay: Relay
) -> None:
    server = start_server(blob_url=blob_url, environment=CREDENTIALS)
    http = server.http
    away = created(http.post("/v1/datasets", json={"name": "away", **ROWS}))
    copies = [*(tmp_path / "data" / "cache" / "sha256").glob("*/*")]
    here = created(http.post("/v1/datasets", json={"name": "here", "columns": {"x": [1.0, 5.0], "y": [3.0, 7.0]}}))
    for copy in copies:
        copy.unlink()
    relay.refuse()
    waiting = created(http.post("/v1/fits", json={**STEPS, "dataset": away["id"]}))
    until_logged(http, waiting["id"], "storage_unavailable")
    running = created(http.post("/v1/fits", json={**ENDLESS, "dataset": here["id"]}))
    eventually(
        "a fit whose files are here did not start",
        lambda: http.get(f"/v1/fits/{running['id']}").json()["state"] == "running",
    )
    assert http.get(f"/v1/fits/{waiting['id']}").json()["phase"] == "waiting_for_storage"
    relay.pass_on()
    assert ended(http, waiting["id"])["state"] == "succeeded"


def test_a_damaged_copy_is_fetched_again_and_a_damaged_object_is_named(
    start_server: StartServer, tmp_path: Path, blob_url: str, client: ObjectClient
) -> None:
    http = start_server(blob_url=blob_url, environment=CREDENTIALS).http
    dataset = created(http.post("/v1/datasets", json={"name": "rows", **ROWS}))
    for copy in (tmp_path / "data" / "cache" / "sha256").glob("*/*"):
        copy.chmod(0o600)
        copy.write_bytes(bytes(copy.stat().st_size))
    fit = created(http.post("/v1/fits", json={**STEPS, "dataset": dataset["id"]}))
    finished = ended(http, fit["id"])
    assert (finished["state"], finished["error"]) == ("succeeded", None)
    assert finished["attempt"] > 1
    shutil.rmtree(tmp_path / "data" / "cache" / "sha256")
    (tmp_path / "data" / "cache" / "sha256").mkdir()
    for entry in [*list_blobs(client)]:
        client.put(entry.key, bytes(entry.size))
    answer = http.get(f"/v1/datasets/{dataset['id']}/rows")
    assert (answer.status_code, answer.json()["code"]) == (409, "dataset_corrupt")


def test_downloads_without_a_copy_come_from_the_bucket_and_end_early_if_it_is_damaged(
    start_server: StartServer, tmp_path: Path, blob_url: str, client: ObjectClient
) -> None:
    server = start_server(blob_url=blob_url, environment=CREDENTIALS)
    content = b"x,y\n" + b"".join(b"%d,%d\n" % (row, 3 * row) for row in range(700_000))
    assert len(content) > SMALL_BYTES + PART_BYTES  # three parts
    csv = {"Content-Type": "text/csv"}
    dataset = created(server.http.post("/v1/datasets", content=content, headers=csv))
    place, key = f"/v1/datasets/{dataset['id']}/content", object_key(dataset["digest"])
    copies = tmp_path / "data" / "cache" / "sha256"
    shutil.rmtree(copies)
    copies.mkdir()
    part = server.http.get(place, headers={"Range": "bytes=5000000-5000009"})
    assert (part.status_code, part.content) == (206, content[5_000_000:5_000_010])
    assert server.http.head(place).headers["Content-Length"] == str(len(content))
    assert server.http.get(place).content == content
    assert not [*copies.glob("*/*")]

    client.put_file(key, io.BytesIO(content[:-1] + b" "), len(content))
    with server.http.stream("GET", place) as answer:
        received: list[bytes] = []
        with pytest.raises(httpx.RemoteProtocolError):
            received.extend(answer.iter_raw())
    assert content.startswith(b"".join(received))
    assert sum(map(len, received)) >= SMALL_BYTES
    refused = server.http.get(place)
    assert (refused.status_code, refused.json()["code"]) == (409, "dataset_corrupt")
    assert server.tracebacks() == []


def adjoint(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a command that is expected to end, and return what it has printed."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("ADJOINT_", "AWS_"))}
    return subprocess.CompletedProcess(arguments, *run_command(arguments, {**inherited, **CREDENTIALS, **variables}))


def run_server(tmp_path: Path, url: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Start a server that is expected to refuse, and return what it has printed."""
    return adjoint("serve", "--data-dir", str(tmp_path / "data"), "--port", "0", ADJOINT_BLOB_URL=url, **variables)


@pytest.mark.parametrize(
    ("change", "variables", "said"),
    [
        (("s3://blobs", "s3://none"), {}, "no such bucket"),
        (("", ""), {"AWS_SECRET_ACCESS_KEY": "wrong-and-secret"}, "the secret key is wrong"),
        (("", ""), {"AWS_ACCESS_KEY_ID": "wrong-and-secret"}, "the access key is not known"),
        (("", ""), {"AWS_ACCESS_KEY_ID": ""}, "there are no credentials"),
        (("127.0.0.1:", "127.0.0.1:1#"), {}, "it cannot be reached"),
        (("endpoint=", "end="), {}, "has the parameter 'end'"),
        (("s3://blobs", "s3://me:wrong-and-secret@blobs"), {}, "must not hold credentials"),
        (("s3://", "http://"), {}, "must begin with s3://"),
    ],
)
def test_settings_that_are_wrong_end_the_start_with_one_line(
    tmp_path: Path, blob_url: str, change: tuple[str, str], variables: dict[str, str], said: str
) -> None:
    refused = run_server(tmp_path, blob_url.replace(*change), **variables)
    assert refused.returncode == 2, refused
    *_, line = refused.stderr.splitlines()
    assert said in line
    assert line.startswith("adjoint: ")
    assert "wrong-and-secret" not in refused.stderr + refused.stdout
    assert seaweed.SECRET not in refused.stderr + refused.stdout
    assert "Traceback" not in refused.stderr


def test_a_prefix_belongs_to_one_database_and_unknown_files_stay(
    start_server: StartServer, tmp_path: Path, blob_url: str, client: ObjectClient
) -> None:
    server = start_server(blob_url=blob_url, environment=CREDENTIALS)
    dataset = created(server.http.post("/v1/datasets", json={"name": "rows", **ROWS}))
    assert server.stop() == 0
    unknown = hashlib.sha256(b"nobody's").hexdigest()
    client.put(object_key(unknown), b"nobody's")
    before = stored(client)
    other = run_server(tmp_path / "other", blob_url)
    assert (other.returncode, "belongs to another data directory" in other.stderr) == (2, True), other
    forgotten = run_server(tmp_path, "")
    assert (forgotten.returncode, "set ADJOINT_BLOB_URL" in forgotten.stderr) == (2, True), forgotten
    elsewhere = run_server(tmp_path, f"{blob_url.replace('?', '/empty?')}")
    assert (elsewhere.returncode, "none of the files" in elsewhere.stderr) == (2, True), elsewhere
    assert stored(client) == before

    again = start_server(blob_url=blob_url, environment=CREDENTIALS)
    assert again.http.get("/v1/system").json()["recovery"]["orphan_blobs"] == 1
    assert again.http.get(f"/v1/datasets/{dataset['id']}/content").status_code == 200
    assert again.stop() == 0
    assert stored(client) == before
    assert [entry.key for entry in client.list(ORPHANS)] == [ORPHANS + unknown]
    expired = start_server(blob_url=blob_url, environment=CREDENTIALS, quarantine_days=0)
    eventually("an orphan stays for ever", lambda: stored(client) == before - {unknown})
    assert expired.http.get(f"/v1/datasets/{dataset['id']}/content").status_code == 200


def test_a_shared_folder_is_an_object_storage_too(tmp_path: Path, start_server: StartServer) -> None:
    url = f"file://{tmp_path}/shared"
    missing = run_server(tmp_path, url)
    assert (missing.returncode, "there is no folder" in missing.stderr) == (2, True), missing
    (tmp_path / "shared").mkdir()
    server = start_server(blob_url=url)
    fit = created(server.http.post("/v1/fits", json=STEPS))
    assert ended(server.http, fit["id"])["state"] == "succeeded"
    client = ObjectClient(read_address(url))
    digest = server.http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()["digest"]
    assert client.digest(object_key(digest))[0] == digest
    assert server.http.delete(f"/v1/fits/{fit['id']}").status_code == 204
    assert server.stop() == 0
    assert start_server(blob_url=url).http.get("/readyz").status_code == 200


def test_a_folder_moves_to_a_bucket_and_a_move_goes_on_where_it_was(
    start_server: StartServer, tmp_path: Path, blob_url: str, client: ObjectClient
) -> None:
    server = start_server()
    dataset = created(server.http.post("/v1/datasets", json={"name": "rows", **ROWS}))
    fit = created(server.http.post("/v1/fits", json={**STEPS, "dataset": dataset["id"]}))
    assert ended(server.http, fit["id"])["state"] == "succeeded"
    contents = f"/v1/datasets/{dataset['id']}/content"
    before = server.http.get(contents).content
    assert server.stop() == 0
    data_dir = str(tmp_path / "data")
    files = {path.name: path for path in (tmp_path / "data" / "blobs" / "sha256").glob("*/*")}
    refused = run_server(tmp_path, blob_url)
    assert (refused.returncode, "`adjoint migrate`" in refused.stderr) == (2, True), refused

    # As a command leaves it that was stopped: some objects are there, one of them torn.
    sent, torn = sorted(files)[:2]
    client.put(object_key(sent), files[sent].read_bytes())
    client.put(object_key(torn), b"torn")
    stranger = adjoint("migrate", "--data-dir", data_dir, ADJOINT_BLOB_URL=blob_url)
    assert (stranger.returncode, "does not say of which database" in stranger.stderr) == (2, True), stranger
    identity = (tmp_path / "data" / "blobs" / "identity").read_bytes()
    client.put("identity", identity)
    moved = adjoint("migrate", "--data-dir", data_dir, ADJOINT_BLOB_URL=blob_url)
    assert (moved.returncode, f"moved {len(files)} stored files" in moved.stdout) == (0, True), moved
    assert stored(client) == files.keys()
    assert all(client.digest(object_key(digest))[0] == digest for digest in files)
    assert not [*(tmp_path / "data" / "blobs" / "sha256").iterdir()]
    whole = adjoint("verify", "--data-dir", data_dir, ADJOINT_BLOB_URL=blob_url)
    assert (whole.returncode, "all whole" in whole.stdout) == (0, True), whole
    again = adjoint("migrate", "--data-dir", data_dir, ADJOINT_BLOB_URL=blob_url)
    assert (again.returncode, "moved 0 stored files" in again.stdout) == (0, True), again

    http = start_server(blob_url=blob_url, environment=CREDENTIALS).http
    assert http.get(contents).content == before
    longer = created(http.post(f"/v1/fits/{fit['id']}:extend", json={"steps": 20}))
    assert ended(http, longer["id"])["state"] == "succeeded"
