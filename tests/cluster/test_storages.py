"""What each kind of object storage has to do: S3 as a server, Google's and Azure's as doubles of their protocols."""

import hashlib
import io
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest

from app.domain.errors import ApiError, BlobStorageUnusable, NotFound
from app.store.objects.address import read_address
from app.store.objects.cache import BlobCache
from app.store.objects.client import ObjectClient, check_usable
from app.store.objects.keys import list_blobs, object_key
from app.store.objects.store import ObjectBlobStore
from tests.app.test_storage import ROWS, created
from tests.cluster.test_object_storage import STEPS, ended, eventually, run_server, stored
from tests.support import azure_storage, google_storage, seaweed
from tests.support.azure_storage import AzureStorage
from tests.support.cloud_storage import Refused, Request, Response, serving_storage
from tests.support.google_storage import GoogleStorage
from tests.support.server import StartServer


@dataclass(frozen=True, slots=True)
class Storage:
    """A place in an object storage, and the variables with its credentials."""

    url: str
    credentials: Mapping[str, str]


@pytest.fixture(params=["s3", "gs", "az"])
def storage(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Storage]:
    pytest.importorskip("obstore", reason="obstore is not installed (extra `cluster`)")
    with ExitStack() as stack:
        match request.param:
            case "s3":
                found = Storage(request.getfixturevalue("blob_url"), seaweed.CREDENTIALS)
            case "gs":
                google = stack.enter_context(serving_storage(GoogleStorage()))
                found = Storage(f"gs://blobs/tests/1?endpoint={google.url}", google_storage.CREDENTIALS)
            case _:
                azure = stack.enter_context(serving_storage(AzureStorage()))
                address = f"az://blobs/tests/1?account={azure_storage.ACCOUNT}&endpoint={azure.url}"
                found = Storage(address, azure_storage.CREDENTIALS)
        for name, value in found.credentials.items():
            monkeypatch.setenv(name, value)
        yield found


@pytest.fixture
def client(storage: Storage) -> ObjectClient:
    return ObjectClient(read_address(storage.url))


def test_files_are_in_the_bucket_and_a_server_without_copies_has_all(
    start_server: StartServer, tmp_path: Path, storage: Storage, client: ObjectClient
) -> None:
    first = start_server(blob_url=storage.url, environment=storage.credentials)
    dataset = created(first.http.post("/v1/datasets", json={"name": "rows", **ROWS}))
    fit = created(first.http.post("/v1/fits", json={**STEPS, "dataset": dataset["id"]}))
    assert ended(first.http, fit["id"])["state"] == "succeeded"
    checkpoint = first.http.get(f"/v1/fits/{fit['id']}/checkpoints/latest").json()
    content = first.http.get(f"/v1/checkpoints/{checkpoint['id']}/content")
    digest = hashlib.sha256(content.content).hexdigest()
    assert digest in stored(client)
    assert client.digest(object_key(digest)) == (digest, len(content.content))
    assert not [*(tmp_path / "data" / "blobs").glob("sha256/*/*")]
    counted = first.http.get("/v1/system").json()["stored_bytes"]
    # Checkpoints that are not kept are deleted in the background.
    eventually("the usage is not what is stored", lambda: counted == sum(entry.size for entry in list_blobs(client)))
    assert first.stop() == 0
    shutil.rmtree(tmp_path / "data" / "cache")

    again = start_server(blob_url=storage.url, environment=storage.credentials)
    part = again.http.get(f"/v1/checkpoints/{checkpoint['id']}/content", headers={"Range": "bytes=8-19"})
    assert (part.status_code, part.content) == (206, content.content[8:20])
    longer = created(again.http.post(f"/v1/fits/{fit['id']}:extend", json={"steps": 20}))
    assert ended(again.http, longer["id"])["state"] == "succeeded"
    assert again.http.delete(f"/v1/fits/{fit['id']}").status_code == 204
    assert again.http.delete(f"/v1/datasets/{dataset['id']}").status_code == 204
    eventually("files of what was deleted stay in the bucket", lambda: not stored(client))


def test_objects_are_written_read_listed_and_deleted(client: ObjectClient) -> None:
    client.put("a/1", b"0123456789")
    assert client.get("a/1") == b"0123456789"
    assert client.get_range("a/1", 2, 5) == b"234"
    assert client.size("a/1") == 10
    assert client.put_new("a/2", b"")
    assert not client.put_new("a/1", b"other")
    for number in range(3, 8):
        client.put(f"a/{number}", b"x" * number)
    client.put("b & <c>/é", b"other")
    assert {(entry.key, entry.size) for entry in client.list("a")} == {
        ("a/1", 10), ("a/2", 0), *((f"a/{number}", number) for number in range(3, 8))
    }  # fmt: skip
    assert len([*client.list("")]) == 8
    client.delete("a/1")
    client.delete("a/1")
    for ask in (client.get, client.size, client.digest):
        with pytest.raises(NotFound):
            ask("a/1")
    assert len([*client.list("a")]) == 6


def test_a_file_in_parts_is_one_object(client: ObjectClient) -> None:
    content = os.urandom(20 * 1024 * 1024)
    client.put_file("large", io.BytesIO(content), len(content))
    assert client.digest("large") == (hashlib.sha256(content).hexdigest(), len(content))
    assert b"".join(client.parts("large", len(content))) == content


def test_a_torn_upload_is_not_kept(client: ObjectClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put_file = ObjectClient.put_file

    def torn(self: ObjectClient, key: str, file: Any, size: int) -> None:
        self.put(key, file.read()[: size // 2])

    opened = ObjectBlobStore(client, BlobCache(tmp_path, 1 << 20))
    monkeypatch.setattr(ObjectClient, "put_file", torn)
    with pytest.raises(ApiError) as failed:
        opened.put(b"content" * 1000)
    assert failed.value.code == "storage_unavailable"
    monkeypatch.setattr(ObjectClient, "put_file", put_file)
    large = os.urandom(20 * 1024 * 1024)  # of three parts
    blob = opened.put(large)
    assert client.digest(object_key(blob.digest)) == (blob.digest, len(large))
    shutil.rmtree(tmp_path / "sha256" / blob.digest[:2])
    with opened.open(blob.digest) as file:
        file.seek(9_000_000)
        assert file.read(10) == large[9_000_000:9_000_010]
    assert opened.verified_path(blob.digest).read_bytes() == large
    opened.close()


class _ReadOnlyStorage(GoogleStorage):
    """Lets its clients read, and nothing else."""

    def answer(self, request: Request) -> Response:
        if request.method not in ("GET", "HEAD"):
            raise Refused(403, "AccessDenied")
        return super().answer(request)


def test_a_server_that_may_not_write_to_its_bucket_does_not_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed (extra `cluster`)")
    for name, value in google_storage.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with serving_storage(_ReadOnlyStorage()) as google:
        refused = run_server(tmp_path, f"gs://blobs/tests/1?endpoint={google.url}")
    assert refused.returncode == 2, refused
    *_, line = refused.stderr.splitlines()
    assert "does not let the server write probe: the credentials do not permit it; start it, or correct" in line
    assert google_storage.TOKEN not in refused.stderr


@pytest.mark.parametrize("storage", ["s3", "az"], indirect=True)
def test_a_signed_url_reads_one_object_without_credentials(client: ObjectClient) -> None:
    client.put("a", b"content")
    client.put("b", b"other")
    url = client.sign("a", 60)
    assert url is not None
    assert httpx.get(url).content == b"content"
    assert httpx.get(url.replace("/a?", "/b?")).status_code == 403
    assert httpx.delete(url).status_code == 403


@pytest.mark.parametrize("storage", ["gs"], indirect=True)
def test_credentials_that_sign_no_urls_are_found_at_the_start(client: ObjectClient) -> None:
    check_usable(client)
    with pytest.raises(BlobStorageUnusable, match="does not let the server sign a URL"):
        check_usable(client, 60)


def test_credentials_that_may_only_read_are_found_at_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("obstore", reason="obstore is not installed (extra `cluster`)")

    class ReadOnly(GoogleStorage):
        def answer(self, request: Request) -> Response:
            if request.method == "PUT":
                raise Refused(403, "AccessDenied")
            return super().answer(request)

    for name, value in google_storage.CREDENTIALS.items():
        monkeypatch.setenv(name, value)
    with serving_storage(ReadOnly()) as served:
        client = ObjectClient(read_address(f"gs://blobs/tests?endpoint={served.url}"))
        with pytest.raises(BlobStorageUnusable, match="write probe: the credentials do not permit it"):
            check_usable(client)


@pytest.mark.parametrize(
    ("storage", "change", "variables", "said"),
    [
        ("gs", ("gs://blobs", "gs://none"), {}, "there is no such bucket"),
        ("gs", ("", ""), {"GOOGLE_BEARER_TOKEN": "wrong-and-secret"}, "the credentials are wrong"),
        ("gs", ("", ""), {"GOOGLE_SERVICE_ACCOUNT": "/no/file.json"}, "GOOGLE_SERVICE_ACCOUNT"),
        ("gs", ("endpoint=", "account="), {}, "has the parameter 'account'"),
        ("az", ("az://blobs", "az://none"), {}, "there is no such container"),
        ("az", ("", ""), {"AZURE_STORAGE_ACCOUNT_KEY": "d3JvbmctYW5kLXNlY3JldA=="}, "the account key is wrong"),
        ("az", ("", ""), {"AZURE_STORAGE_ACCOUNT_KEY": "wrong-and-secret!"}, "AZURE_STORAGE_ACCOUNT_KEY"),
        ("az", ("account=adjointtests&", ""), {}, "names no storage account"),
    ],
    indirect=["storage"],
)
def test_settings_that_are_wrong_end_the_start_with_one_line(
    tmp_path: Path, storage: Storage, change: tuple[str, str], variables: dict[str, str], said: str
) -> None:
    refused = run_server(tmp_path, storage.url.replace(*change), **{**storage.credentials, **variables})
    assert refused.returncode == 2, refused
    *_, line = refused.stderr.splitlines()
    assert line.startswith("adjoint: ")
    assert said in line
    for secret in ("wrong-and-secret", "d3JvbmctYW5kLXNlY3JldA", *storage.credentials.values()):
        assert secret not in refused.stderr + refused.stdout
    assert "Traceback" not in refused.stderr
