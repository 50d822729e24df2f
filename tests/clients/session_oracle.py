"""A session as the contract has it, in memory: an engine's session, with places and answers that are kept."""

import hashlib
import io
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

import engine
from engine.core.errors import EngineError

READS = frozenset({"predict", "row_losses", "trace_nonfinite", "profile"})


class Refused(Exception):
    """A problem: its status and its members."""

    def __init__(self, status: int, code: str, detail: str = "", **members: Any) -> None:
        super().__init__(code)
        self.status = status
        self.problem = {"code": code, "detail": detail, "status": status, **members}


class Oracle:
    """Carries out steps, each `(verb, options, arrays)`; `carried_out` is what really was, in order."""

    def __init__(self, request: Mapping[str, Any], datasets: Mapping[str, Mapping[str, np.ndarray]]) -> None:
        options = {name: request[name] for name in ("optimizer", "seed", "clip", "precision") if name in request}
        self.session = engine.Session(
            engine.parse_graph(request["graph"]), execution=engine.Execution(threads=1), **options
        )
        self.request = request
        self.state = "active"
        self.next_seq = 1
        self.carried_out: list[str] = []
        self.saved: dict[str, engine.Checkpoint] = {}
        self._datasets = datasets
        self._tapes: dict[str, engine.Tape] = {}
        self._answers: dict[int, tuple[str, Any]] = {}

    def step(self, verb: str, options: dict[str, Any], arrays: dict[str, np.ndarray]) -> tuple[dict[str, Any], Any]:
        """Carry out a step, or repeat what came of it; return the answer and the arrays that belong to it."""
        if self.state != "active":
            raise Refused(409, f"session_{self.state}", expected_seq=self.next_seq)
        seq = options.pop("seq", None)
        if verb in READS:
            assert seq is None, "a read takes no place"
            return self._outcome(verb, options, arrays, None)
        digest = _digest(verb, options, arrays)
        if seq is not None and seq != self.next_seq:
            if seq > self.next_seq:
                raise Refused(409, "sequence_gap", expected_seq=self.next_seq)
            if self._answers[seq][0] != digest:
                raise Refused(409, "seq_used", expected_seq=self.next_seq)
            return _report(self._answers[seq][1])
        place, self.next_seq = self.next_seq, self.next_seq + 1
        try:
            outcome = self._outcome(verb, options, arrays, place)
            self.carried_out.append(verb)
        except Refused as refusal:
            outcome = refusal
        self._answers[place] = digest, outcome
        return _report(outcome)

    def _outcome(self, verb: str, options: dict[str, Any], arrays: dict[str, np.ndarray], place: int | None) -> Any:
        try:
            answer, outputs = getattr(self, f"_{verb}")(options, arrays, place)
        except EngineError as error:
            findings = [
                {"pointer": f.pointer, "code": f.code, "detail": f.detail} for f in getattr(error, "findings", ())
            ]
            raise Refused(422, "invalid_step", str(error), errors=findings, expected_seq=self.next_seq) from error
        return {**answer, "seq": place}, outputs

    def _inputs(self, options: dict[str, Any], arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        rows = options.pop("rows", None)
        if rows is None:
            options.pop("inputs", None)
            return arrays
        columns = self._datasets[rows.get("dataset") or self.request["dataset"]]
        feeds = options.pop("feeds", None) or self.request.get("feeds") or {}
        which = rows["indices"] if "indices" in rows else slice(rows["start"], rows["stop"])
        return {name: columns[feeds.get(name, name)][which] for name in self.session.definition.inputs}

    def _forward(self, options, arrays, place):
        done = self.session.forward(self._inputs(options, arrays), **options)
        if done.tape is not None:
            self._tapes[f"tape_{place}"] = done.tape
        tape_id = None if done.tape is None else f"tape_{place}"
        return finite({"losses": done.losses, "tape_id": tape_id}), dict(done.outputs)

    def _backward(self, options, arrays, place):
        tape = self._tapes.get(options["tape_id"])
        if tape is None:
            raise Refused(410, "tape_gone", expected_seq=self.next_seq)
        done = self.session.backward(tape, arrays)
        return finite({"grad_norm": done.norm, "grad_norms": done.norms}), None

    def _forward_backward(self, options, arrays, place):
        done = self.session.forward_backward(self._inputs(options, arrays), **options)
        answer = {"loss": done.loss, "losses": done.losses, "grad_norm": done.norm, "grad_norms": done.norms}
        return finite(answer), None if done.outputs is None else dict(done.outputs)

    def _optim_step(self, options, arrays, place):
        done = self.session.optim_step(**options)
        answer = {"step": done.step, "clipped": done.clipped, "taken": done.taken}
        return finite({**answer, "grad_norm": done.norm, "grad_norms": done.norms}), None

    def _zero_grad(self, options, arrays, place):
        return self.session.zero_grad(**options) or {}, None

    def _reset(self, options, arrays, place):
        return self.session.reset(**options) or {}, None

    def _set(self, options, arrays, place):
        return self.session.set_parameters(arrays) or {}, None

    def _set_gradient(self, options, arrays, place):
        return self.session.set_gradient(options["name"], arrays.get("gradient")) or {}, None

    def _predict(self, options, arrays, place):
        return {}, self.session.predict(self._inputs(options, arrays), **options)

    def _row_losses(self, options, arrays, place):
        top = options.pop("top", 10)
        losses = self.session.losses_by_row(self._inputs(options, arrays))
        encoded = finite({str(row): loss for row, loss in enumerate(losses.tolist())})
        nonfinite = encoded.pop("nonfinite")
        worst = np.argsort(-np.where(np.isfinite(losses), losses, np.inf), kind="stable")[:top].tolist()
        return {"losses": list(encoded.values()), "nonfinite": nonfinite, "top": [{"row": row} for row in worst]}, None

    def _trace_nonfinite(self, options, arrays, place):
        found = self.session.first_nonfinite(self._inputs(options, arrays))
        return {"first": None if found is None else {"name": found.name, "kind": found.kind}}, None

    def _profile(self, options, arrays, place):
        return {"data": [{"op": timing.op} for timing in self.session.profile(self._inputs(options, arrays))]}, None

    def _save(self, options, arrays, place):
        name = f"ckpt_{place}"
        self.saved[name] = self.session.snapshot()
        resource = {"id": name, "object": "checkpoint", "fit": None, "graph": "graph_1", "step": self.session.step}
        resource |= {"epoch": 0, "is_best": False, "pinned": False, "metrics": {}, "nonfinite": {}, "digest": "0" * 64}
        resource |= {"size_bytes": 1, "corrupt": False, "created_at": "2026-01-01T00:00:00Z"}
        return {**resource, "links": {"self": "", "content": "", "parameters": ""}}, None

    def _load(self, options, arrays, place):
        self.session.restore(self.saved[options["checkpoint"]], optimizer=options["optimizer"])
        return {"step": self.session.step}, None


def finite(answer: dict[str, Any]) -> dict[str, Any]:
    """Encode numbers as JSON can."""
    nonfinite: dict[str, str] = {}

    def plain(path: str, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {name: plain(f"{path}/{name}", found) for name, found in value.items()}
        if isinstance(value, float) and not math.isfinite(value):
            nonfinite[path] = str(value)
            return None
        return value

    return {**{name: plain(name, value) for name, value in answer.items()}, "nonfinite": nonfinite}


def _report(outcome: Any) -> tuple[dict[str, Any], Any]:
    if isinstance(outcome, Refused):
        raise outcome
    return outcome


def _digest(verb: str, options: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> str:
    """Tell whether two requests are the same; options in a query are texts, so all are compared as such."""
    content = io.BytesIO(json.dumps([verb, dict(options)], sort_keys=True).encode())
    content.seek(0, io.SEEK_END)
    for name, array in arrays.items():
        content.write(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
    return hashlib.sha256(content.getvalue()).hexdigest()
