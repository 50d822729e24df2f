"""The contract of sessions over HTTP, with a session in memory behind it, and faults on demand."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

import numpy as np

from adjoint_client.npy import npy_bytes, read_npy
from adjoint_client.safetensors import block, decode, encode_blocks
from adjoint_client.tensors import to_wire
from tests.clients.session_oracle import Oracle, Refused

SAFETENSORS, NPY = "application/vnd.safetensors", "application/x-npy"
Fault = str
"""lost: not carried out, and no answer; swallowed: carried out, and no answer; busy: 503; torn: half an answer."""


class SessionServer:
    """Sessions by id, and what happened on the way to them."""

    def __init__(self) -> None:
        self.sessions: dict[str, Oracle] = {}
        self.datasets: dict[str, dict[str, np.ndarray]] = {}
        self.fault: Callable[[str], Fault | None] = lambda path: None
        self.requests: list[str] = []
        self.keys: list[str | None] = []
        self.lock = threading.Lock()
        self._http: ThreadingHTTPServer | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def session(self) -> Oracle:
        """The only session there is."""
        (oracle,) = self.sessions.values()
        return oracle

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"owner": self})
        self._http = ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        self._http.daemon_threads = True
        self._port = self._http.server_address[1]
        threading.Thread(target=self._http.serve_forever, args=(0.01,), daemon=True).start()

    def stop(self) -> None:
        """No longer listen; connections that there are end with their next request."""
        assert self._http is not None
        self._http.shutdown()
        self._http.server_close()
        self._http = None

    @property
    def running(self) -> bool:
        return self._http is not None


@contextmanager
def serving_sessions() -> Iterator[SessionServer]:
    server = SessionServer()
    server.start()
    try:
        yield server
    finally:
        if server.running:
            server.stop()


class _Handler(BaseHTTPRequestHandler):
    owner: SessionServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = 1 << 16

    def log_message(self, *_: Any) -> None: ...

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.close_connection = self.close_connection or not self.owner.running
        if not self.owner.running:
            return
        with self.owner.lock:
            self.owner.requests.append(f"{self.command} {self.path}")
            self.owner.keys.append(self.headers["Authorization"])
            fault = self.owner.fault(self.path)
            if fault in ("lost", "busy"):
                status, media, content = 503, "application/problem+json", b'{"code": "draining"}'
            else:
                status, media, content = self._answer(body)
        self.close_connection = self.close_connection or fault in ("lost", "swallowed", "torn")
        if fault in ("lost", "swallowed"):
            return
        self.send_response(status)
        self.send_header("Content-Type", media)
        self.send_header("Content-Length", str(len(content)))
        if fault == "busy":
            self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "torn" else content)

    do_GET = do_POST = do_PUT = do_DELETE = _handle

    def _answer(self, body: bytes) -> tuple[int, str, bytes]:
        try:
            parts = urlsplit(self.path)
            query = {name: _value(text) for name, text in parse_qsl(parts.query)}
            below = parts.path.removeprefix("/v1/sessions")
            if parts.path == "/v1/datasets":
                return _json(201, self._upload(decode(body).arrays))
            if not below:
                return _json(201, self._resource(self._create(json.loads(body)))) if body else _json(200, self._list())
            name, _, rest = below.removeprefix("/").partition("/")
            identity, _, verb = name.partition(":")
            oracle = self.owner.sessions.get(identity)
            if oracle is None:
                raise Refused(404, "not_found")
            if rest:
                return self._array(oracle, *map(unquote, rest.split("/", 1)), query=query, body=body)
            return self._act(identity, oracle, verb, query, body)
        except Refused as refusal:
            return _json(refusal.status, refusal.problem, "application/problem+json")

    def _act(
        self, identity: str, oracle: Oracle, verb: str, query: dict[str, Any], body: bytes
    ) -> tuple[int, str, bytes]:
        if self.command == "DELETE":
            oracle.state = "closed"
            return 204, "text/plain", b""
        if verb in ("", "pause", "resume"):
            oracle.state = {"pause": "paused", "resume": "active"}.get(verb, oracle.state)
            return _json(200, self._resource(identity))
        media = self.headers.get("Content-Type")
        tensors = decode(body) if media == SAFETENSORS else None
        if verb == "batch":
            return _json(200, {"data": self._batch(oracle, tensors, body)})
        options = {**query, **(json.loads(body) if tensors is None else {})}
        answer, outputs = oracle.step(verb, options, {} if tensors is None else tensors.arrays)
        if outputs is not None and self.headers["Accept"] == SAFETENSORS:
            blocks = {f"outputs/{name}": block(name, array) for name, array in outputs.items()}
            return 200, SAFETENSORS, b"".join(encode_blocks(blocks, {"answer": json.dumps(answer)}))
        return _json(201 if verb == "save" else 200, _whole(answer, outputs))

    def _batch(self, oracle: Oracle, tensors: Any, body: bytes) -> list[dict[str, Any]]:
        steps = json.loads(body)["steps"] if tensors is None else json.loads(tensors.metadata["steps"])
        data: list[dict[str, Any]] = []
        for place, options in enumerate(steps):
            if data and "error" in data[-1]:
                data.append({"seq": None, "status": 424, "error": {"code": "not_carried_out"}})
                continue
            mine = {} if tensors is None else _below(f"{place}/", tensors.arrays)
            try:
                answer, outputs = oracle.step(options.pop("verb"), options, mine)
                data.append({"seq": answer["seq"], "status": 200, "answer": _whole(answer, outputs)})
            except Refused as refusal:
                data.append({"seq": None, "status": refusal.status, "error": refusal.problem})
        return data

    def _array(
        self, oracle: Oracle, kind: str, name: str = "", *, query: dict[str, Any], body: bytes
    ) -> tuple[int, str, bytes]:
        if self.command == "PUT":
            arrays = {} if body == b"null" else {"gradient": read_npy(body)}
            return _json(200, oracle.step("set_gradient", {"name": name, **query}, arrays)[0])
        arrays = getattr(oracle.session, kind)
        if not name and self.headers["Accept"] == SAFETENSORS:
            there = {name: block(name, array) for name, array in arrays.items() if array is not None}
            return 200, SAFETENSORS, b"".join(encode_blocks(there))
        if not name:
            return _json(200, {"object": "list", "data": [_info(oracle, n, a) for n, a in arrays.items()]})
        if name not in arrays:
            raise Refused(404, "not_found", expected_seq=oracle.next_seq)
        if query.get("stats"):
            return _json(200, _statistics(oracle.session.statistics(name, kind)))
        return _json(200, None) if arrays[name] is None else (200, NPY, npy_bytes(arrays[name]))

    def _upload(self, columns: dict[str, np.ndarray]) -> dict[str, Any]:
        identity = f"ds_{len(self.owner.datasets) + 1}"
        self.owner.datasets[identity] = columns
        resource = {
            "id": identity,
            "name": "",
            "rows": 0,
            "columns": [],
            "format": "safetensors",
            "size_bytes": 0,
            "corrupt": False,
        }
        return {**resource, "digest": "0" * 64, "created_at": "2026-01-01T00:00:00Z"}

    def _create(self, request: dict[str, Any]) -> str:
        assert self.headers["Idempotency-Key"]
        identity = f"sess_{len(self.owner.sessions) + 1}"
        self.owner.sessions[identity] = Oracle(request, self.owner.datasets)
        return identity

    def _list(self) -> dict[str, Any]:
        data = [self._resource(identity) for identity in self.owner.sessions]
        return {"object": "list", "data": data, "has_more": False, "next_cursor": None}

    def _resource(self, identity: str) -> dict[str, Any]:
        oracle = self.owner.sessions[identity]
        then = "2026-01-01T00:00:00Z"
        names = ("self", "parameters", "gradients", "buffers", "graph", "dataset", "checkpoint")
        untold = ("process", "executor", "threads", "expires_at", "finished_at", "error", "checkpoint", "static")
        return {
            "id": identity, "object": "session", "kind": "training", "state": oracle.state, "graph": "graph_1",
            "dataset": oracle.request.get("dataset"), "labels": oracle.request.get("labels", {}), "optimizer": None,
            "classes": {},
            "next_seq": oracle.next_seq, "step": oracle.session.step, "parameters": [], "seed": 0, "attempt": 1,
            "precision": "float32", "bit_exact": True, "ttl_seconds": 60.0, "created_at": then, "used_at": then,
            "links": dict.fromkeys(names, ""), **dict.fromkeys(untold),
        }  # fmt: skip


def _whole(answer: dict[str, Any], outputs: dict[str, np.ndarray] | None) -> dict[str, Any]:
    return answer if outputs is None else {**answer, "outputs": {n: to_wire(array) for n, array in outputs.items()}}


def _info(oracle: Oracle, name: str, array: np.ndarray | None) -> dict[str, Any]:
    shape = list(oracle.session.parameters[name].shape)
    return {
        "name": name,
        "shape": shape,
        "dtype": "float32",
        "norm": None if array is None else float(np.linalg.norm(array)),
    }


def _statistics(found: Any) -> dict[str, Any] | None:
    if found is None:
        return {"norm": None, "histogram": None}
    plain = {name: getattr(found, name) for name in ("norm", "mean", "min", "max")}
    return {
        **plain,
        "nan_count": found.nan,
        "inf_count": found.inf,
        "histogram": {"edges": found.edges, "counts": found.counts},
    }


def _below(prefix: str, arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name.removeprefix(prefix): array for name, array in arrays.items() if name.startswith(prefix)}


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _json(status: int, document: Any, media: str = "application/json") -> tuple[int, str, bytes]:
    return status, media, json.dumps(document).encode()
