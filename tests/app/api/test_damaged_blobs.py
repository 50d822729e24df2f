"""Every damage to every kind of stored file, on every route that opens it: refused, marked, counted, and healed by the
same bytes. One flipped bit in a checkpoint was once answered by `:predict` with 8.3e37 for 0.388.
"""

import hashlib
import io
import itertools
import os
import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest

from app.cli.verification import verify_directory
from tests.extent import FULL
from tests.support.patience import LONGEST_WAIT
from tests.support.server import ServerProcess

from .conftest import LINE, RECIPE, created

HEADER_BYTE = 9
ROUNDS = 250 if FULL else 2
"""Random damages to each kind of file."""
SEEDS = itertools.count(9000)


def flipped(content: bytes, place: int) -> bytes:
    damaged = bytearray(content)
    damaged[place] ^= 1
    return bytes(damaged)


Damage = Callable[[bytes, bytes], bytes | None]
"""Makes of a file's content, and of that of another one of its kind, what is found there; None: no file."""

DAMAGES: Mapping[str, Damage] = {
    "flipped at the start": lambda content, _: flipped(content, 0),
    "flipped in the header": lambda content, _: flipped(content, HEADER_BYTE),
    "flipped in the middle": lambda content, _: flipped(content, len(content) // 2),
    "flipped at the end": lambda content, _: flipped(content, len(content) - 1),
    "truncated": lambda content, _: content[:-3],
    "emptied": lambda _content, _: b"",
    "extended": lambda content, _: content + b"\0",
    "replaced": lambda _, other: other,
    "deleted": lambda _content, _: None,
}
QUICK = ("flipped in the header", "flipped in the middle", "deleted")
"""Damages that are healed by an upload, which a process reads; the other files are put right by hand. Where a process
is started for each damage, these alone are tried.
"""


@dataclass
class Kind:
    """A kind of stored file: one of it, what its damage is called, where it is listed, and how it is opened.

    `reads` answer the same as often as they are asked; `others` need not.
    """

    digest: str
    code: str
    resource: Callable[[], bool]
    heal: Callable[[bytes], httpx.Response]
    other: bytes
    reads: list[Callable[[], httpx.Response]]
    others: list[Callable[[], httpx.Response]] = field(default_factory=list)


class StorageHarness:
    """A fit with checkpoints and captured gradients, and its dataset, which no other test uses."""

    def __init__(self, server: ServerProcess) -> None:
        self.http, self.data_dir = server.http, server.data_dir
        self.seed = next(SEEDS)
        self.columns = {
            "x": np.random.default_rng(self.seed).standard_normal((64, 2)),
            "y": np.random.default_rng(self.seed + 1).standard_normal(64),
        }
        self.graph = created(self.http.post("/v1/graphs", json=LINE))
        self.dataset = self.uploaded(self.npz())
        self.fit = self.fitted(record={"gradients": {"every_steps": 8}}, seed=self.seed)
        assert self.fit["state"] == "succeeded", self.fit
        self.checkpoint = self.http.get(f"/v1/fits/{self.fit['id']}/checkpoints/latest").json()

    def session(self) -> dict[str, Any]:
        asked = {"graph": self.graph["id"], "dataset": self.dataset["id"]}
        return created(self.http.post("/v1/sessions", json=asked))

    def npz(self) -> bytes:
        return npz_of(self.columns)

    def uploaded(self, content: bytes, media: str = "application/x-npz") -> dict[str, Any]:
        return created(self.upload(content, media))

    def upload(self, content: bytes, media: str = "application/x-npz") -> httpx.Response:
        return self.http.post("/v1/datasets", content=content, headers={"Content-Type": media})

    def fitted(self, **request: Any) -> dict[str, Any]:
        asked = {"graph": self.graph["id"], "dataset": self.dataset["id"], **RECIPE, **request}
        queued = created(self.http.post("/v1/fits", json=asked))
        done: dict[str, Any] = self.http.get(f"/v1/fits/{queued['id']}", params={"wait": LONGEST_WAIT}).json()
        return done

    def get(self, path: str, **headers: str) -> Callable[[], httpx.Response]:
        return lambda: self.http.get(path, headers=headers)

    def post(self, path: str, **body: Any) -> Callable[[], httpx.Response]:
        return lambda: self.http.post(path, json=body)

    def file(self, digest: str) -> Path:
        return self.data_dir / "blobs" / "sha256" / digest[:2] / digest

    def marked(self, path: str) -> Callable[[], bool]:
        return lambda: bool(self.http.get(path).json()["corrupt"])

    def verified(self) -> list[str]:
        """Return what `adjoint verify` finds damaged while the server runs."""
        return [finding.name for finding in verify_directory(self.data_dir).findings]

    def metric(self, name: str) -> float:
        lines = self.http.get("/metrics").text.splitlines()
        return float(next(line.split()[1] for line in lines if line.startswith(f"{name} ")))


@pytest.fixture(scope="module")
def harness(server: ServerProcess) -> StorageHarness:
    return StorageHarness(server)


def npz_of(columns: Mapping[str, Any]) -> bytes:
    buffer = io.BytesIO()
    np.savez(buffer, **columns)
    return buffer.getvalue()


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


def checkpoint_kind(harness: StorageHarness) -> Kind:
    checkpoint, fit = harness.checkpoint, harness.fit["id"]
    here = f"/v1/checkpoints/{checkpoint['id']}"
    others = harness.http.get(f"/v1/fits/{fit}/checkpoints").json()["data"]
    other = next(each for each in others if each["digest"] != checkpoint["digest"])
    session = created(harness.http.post("/v1/sessions", json={"graph": harness.graph["id"]}))
    npy_body = {"content": npy(np.ones((3, 2))), "headers": {"Content-Type": "application/x-npy"}}
    inputs = {"x": {"shape": [1, 2], "dtype": "float32", "data": [1, 2]}}
    return Kind(
        checkpoint["digest"],
        "checkpoint_corrupt",
        harness.marked(here),
        lambda content: harness.http.post(
            "/v1/checkpoints", params={"graph": harness.graph["id"]}, content=content, headers=SAFETENSORS
        ),
        harness.file(other["digest"]).read_bytes(),
        [
            harness.get(f"{here}/content"),
            harness.get(f"{here}/content", Range="bytes=0-9"),
            harness.get(f"{here}/content?only=parameters"),
            harness.get(f"{here}/parameters"),
            harness.get(f"{here}/parameters/w"),
            harness.get(f"{here}/parameters/w?format=npy"),
            harness.get(f"/v1/fits/{fit}/bundle"),
            harness.post(f"{here}:predict", inputs=inputs),
            lambda: harness.http.post(f"{here}:predict", **npy_body),
        ],
        [
            harness.post("/v1/fits", from_checkpoint=checkpoint["id"], epochs=50),
            harness.post("/v1/fits", from_checkpoint={"checkpoint": checkpoint["id"], "restore": "parameters"}),
            harness.post("/v1/fits:replay", fit=fit),
            harness.post("/v1/sessions", checkpoint=checkpoint["id"]),
            harness.post(f"/v1/sessions/{session['id']}:load", checkpoint=checkpoint["id"]),
        ],
    )


def upload_kind(harness: StorageHarness) -> Kind:
    here = f"/v1/datasets/{harness.dataset['id']}"
    return Kind(
        harness.dataset["digest"],
        "dataset_corrupt",
        harness.marked(here),
        lambda content: harness.upload(content),
        npy(np.ones(3)),
        [harness.get(f"{here}/content"), harness.get(f"{here}/content", Range="bytes=-5")],
    )


def column_kind(harness: StorageHarness) -> Kind:
    here = f"/v1/datasets/{harness.dataset['id']}"
    blob = blob_of(harness, "x")
    fit = {"graph": harness.graph["id"], "dataset": harness.dataset["id"], **RECIPE}
    held_out = {**fit, "validation": {"dataset": harness.dataset["id"]}}
    return Kind(
        blob,
        "dataset_corrupt",
        harness.marked(here),
        lambda _: harness.upload(harness.npz()),
        npy(harness.columns["x"] + 1),
        [harness.get(f"{here}/rows"), harness.get(f"{here}/rows?offset=3&limit=2")],
        # Known to be damaged by the time that they are asked.
        [harness.post("/v1/fits", **fit), harness.post("/v1/fits", **held_out)],
    )


def gradient_kind(harness: StorageHarness) -> Kind:
    here = f"/v1/fits/{harness.fit['id']}/gradients"
    listed = harness.http.get(here).json()["data"]
    found = next(each for each in listed if each["parameter"] == "w")
    other = next(each for each in listed if each["parameter"] == "w" and each["digest"] != found["digest"])
    here = found["links"]["self"]

    def marked() -> bool:
        again = harness.http.get(f"/v1/fits/{harness.fit['id']}/gradients").json()["data"]
        return bool(next(each for each in again if each["digest"] == found["digest"])["corrupt"])

    return Kind(
        found["digest"],
        "gradient_corrupt",
        marked,
        lambda content: harness.upload(content, "application/x-npy"),
        harness.file(other["digest"]).read_bytes(),
        [
            harness.get(f"{here}&format=npy"),
            harness.get(f"{here}&format=npy", Range="bytes=3-"),
            harness.get(f"{here}&format=json"),
            harness.get(f"{here}&stats=true"),
        ],
    )


SAFETENSORS = {"Content-Type": "application/vnd.safetensors"}
KINDS = {each.__name__: each for each in (checkpoint_kind, upload_kind, column_kind, gradient_kind)}


def blob_of(harness: StorageHarness, column: str) -> str:
    """Return the digest of a column's file, which is as NumPy writes it."""
    return hashlib.sha256(npy(harness.columns[column])).hexdigest()


def damage(harness: StorageHarness, kind: Kind, how: Damage, content: bytes) -> None:
    file, found = harness.file(kind.digest), how(content, kind.other)
    if found is None:
        file.unlink()
    else:
        file.chmod(0o600)
        file.write_bytes(found)


def answer(response: httpx.Response) -> tuple[int, bytes]:
    assert response.status_code < 300, response.text
    return response.status_code, response.content


@pytest.mark.parametrize("kind", KINDS)
def test_a_damaged_file_is_refused_marked_counted_and_healed(harness: StorageHarness, kind: str) -> None:
    stored = KINDS[kind](harness)
    content = harness.file(stored.digest).read_bytes()
    right = [answer(ask()) for ask in stored.reads]
    for name, how in _damages_of(kind).items():
        found, present = harness.metric("adjoint_damaged_blobs_found_total"), harness.metric("adjoint_damaged_blobs")
        assert not stored.resource()
        damage(harness, stored, how, content)
        for ask in (*stored.reads, *stored.others):
            refused = ask()
            document = refused.json()
            assert (refused.status_code, document["code"], document["blob"]) == (409, stored.code, stored.digest), (
                name,
                document,
            )
        assert stored.resource()
        if name == QUICK[0]:
            assert stored.digest in harness.verified()
        assert harness.metric("adjoint_damaged_blobs") == present + 1
        assert harness.metric("adjoint_damaged_blobs_found_total") == found + 1
        if name in QUICK:
            healed = stored.heal(content)
            assert healed.status_code == 201, healed.text
            assert not stored.resource()
        else:
            harness.file(stored.digest).write_bytes(content)
        assert [answer(ask()) for ask in stored.reads] == right, name
        assert not stored.resource()
    assert harness.metric("adjoint_damaged_blobs") == 0
    assert stored.digest not in harness.verified()


def _damages_of(kind: str) -> Mapping[str, Damage]:
    """Return the damages to test on a kind of file: the quick ones, and a share of the others (all in `make chaos`)."""
    others = [name for name in DAMAGES if name not in QUICK]
    own = others if FULL else others[[*KINDS].index(kind) :: len(KINDS)]
    return {name: DAMAGES[name] for name in (*QUICK, *own)}


def random_damage(chance: random.Random, content: bytes, other: bytes) -> bytes | None:
    """Return what is left of a file: bits flipped, a part zeroed, cut, moved or added; another file, or nothing."""
    place, end = sorted(chance.randrange(len(content) + 1) for _ in range(2))
    ways: list[Callable[[], bytes | None]] = [
        lambda: flipped(content, chance.randrange(len(content))),
        lambda: flipped(flipped(content, 0), len(content) - 1),
        lambda: content[:place] + bytes(end - place) + content[end:],
        lambda: content[:place],
        lambda: content[place:] + content[:place],
        lambda: content[:place] + chance.randbytes(chance.randint(1, 4096)) + content[place:],
        lambda: other,
        lambda: None,
    ]
    return chance.choice(ways)()


@pytest.mark.parametrize("kind", KINDS)
def test_random_damage_is_refused_wherever_it_is(harness: StorageHarness, kind: str) -> None:
    seed = int(os.environ.get("CHAOS_SEED", "0")) or random.SystemRandom().randrange(2**32)
    chance, stored = random.Random(seed), KINDS[kind](harness)
    file = harness.file(stored.digest)
    content = file.read_bytes()
    right = [answer(ask()) for ask in stored.reads]
    for _ in range(ROUNDS):
        left = random_damage(chance, content, stored.other)
        if left == content:
            continue
        damage(harness, stored, lambda *_, left=left: left, content)
        # The first one to look may be any of them.
        asked = [*stored.reads, *stored.others][: None if stored.resource() else len(stored.reads)]
        for ask in chance.sample(asked, len(asked)):
            refused = ask()
            assert (refused.status_code, refused.json()["code"]) == (409, stored.code), (
                f"CHAOS_SEED={seed}: {left!r}, {refused.text}"
            )
        assert stored.digest in harness.verified()
        file.unlink(missing_ok=True)
        file.write_bytes(content)
        assert [answer(ask()) for ask in stored.reads] == right


@pytest.fixture
def hurt(harness: StorageHarness) -> Iterator[Callable[[Kind, str], None]]:
    """Damage files; all are healed in the end."""
    healing: list[tuple[Kind, bytes]] = []

    def begin(stored: Kind, how: str) -> None:
        content = harness.file(stored.digest).read_bytes()
        healing.append((stored, content))
        damage(harness, stored, DAMAGES[how], content)

    yield begin
    for stored, content in healing:
        assert stored.heal(content).status_code == 201
        assert not stored.resource()


Hurt = Callable[[Kind, str], None]
FITS: Mapping[str, Mapping[str, Any]] = {
    "one process": {},
    "replicas": {"resources": {"replicas": 2}},
    "sweep": {"sweep": {"kind": "grid", "parameters": {"optimizer.lr": [0.01, 0.02]}}},
}


ATTEMPTS = [*(("one process", how) for how in QUICK), ("replicas", QUICK[0]), ("sweep", QUICK[1])]


@pytest.mark.parametrize(("fit", "how"), ATTEMPTS)
def test_a_fit_does_not_train_on_damaged_data(harness: StorageHarness, hurt: Hurt, fit: str, how: str) -> None:
    stored = column_kind(harness)
    hurt(stored, how)
    failed = harness.fitted(**FITS[fit])
    assert (failed["state"], failed["step"]) == ("failed", 0)
    error = failed["error"]
    if fit == "sweep":
        variants = harness.http.get("/v1/fits", params={"parent": failed["id"]}).json()["data"]
        error = variants[0]["error"]
    assert error["code"] == "dataset_corrupt"
    assert stored.resource()


def test_a_fit_does_not_validate_on_damaged_data(harness: StorageHarness, hurt: Hurt) -> None:
    stored = column_kind(harness)
    whole = harness.uploaded(npz_of({name: column + 2 for name, column in harness.columns.items()}))
    hurt(stored, "flipped in the middle")
    failed = harness.fitted(dataset=whole["id"], validation={"dataset": harness.dataset["id"]})
    assert (failed["error"]["code"], failed["step"]) == ("dataset_corrupt", 0)


@pytest.mark.parametrize("how", QUICK)
def test_a_session_takes_no_rows_of_damaged_data(harness: StorageHarness, hurt: Hurt, how: str) -> None:
    stored = column_kind(harness)
    content = harness.file(stored.digest).read_bytes()
    session = harness.session()
    here, rows = f"/v1/sessions/{session['id']}", {"rows": {"start": 0, "stop": 8}}
    hurt(stored, how)
    refused = harness.http.post(f"{here}:forward", json={"seq": 1, **rows})
    assert (refused.status_code, refused.json()["code"]) == (409, "dataset_corrupt")
    assert stored.resource()
    stored.heal(content)
    seq = refused.json().get("expected_seq", 1)
    assert harness.http.post(f"{here}:forward", json={"seq": seq, **rows}).status_code == 200


def test_a_session_whose_log_needs_damaged_data_waits_until_they_are_whole(harness: StorageHarness, hurt: Hurt) -> None:
    stored = column_kind(harness)
    content = harness.file(stored.digest).read_bytes()
    session = harness.session()
    here, rows = f"/v1/sessions/{session['id']}", {"rows": {"start": 0, "stop": 8}}
    kept = harness.http.post(f"{here}:forward", json={**rows, "keep": True}).json()
    harness.http.post(f"{here}:pause")
    harness.http.post(f"{here}:resume")
    hurt(stored, "flipped in the middle")
    backward = {"tape_id": kept["tape_id"], "cotangents": {"loss": 1.0}}
    refused = harness.http.post(f"{here}:backward", json=backward)
    assert (refused.status_code, refused.json()["code"]) == (409, "dataset_corrupt"), refused.text
    assert harness.http.get(here).json()["state"] == "active"
    stored.heal(content)
    assert harness.http.post(f"{here}:backward", json=backward).status_code == 200


def test_a_session_that_begins_with_a_damaged_checkpoint_waits_until_it_is_whole(
    harness: StorageHarness, hurt: Hurt
) -> None:
    stored = checkpoint_kind(harness)
    content = harness.file(stored.digest).read_bytes()
    session = created(harness.http.post("/v1/sessions", json={"checkpoint": harness.checkpoint["id"]}))
    step = harness.post(f"/v1/sessions/{session['id']}:zero_grad")
    hurt(stored, "flipped at the end")
    refused = step()
    assert (refused.status_code, refused.json()["code"]) == (409, "checkpoint_corrupt"), refused.text
    stored.heal(content)
    assert step().status_code == 200
