"""What runs on a cluster while its parts are killed: eight fits of different kinds, and two sessions."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Protocol

import httpx
import numpy as np

from tests.chaos import invariants
from tests.chaos.driver import Observed, read_events
from tests.chaos.workload import fit_request
from tests.support.patience import LONGEST_WAIT

STEPS = 400
MORE = 100
"""Steps by which the fit is extended that is extended."""

CHECKPOINT = {"every_steps": 20, "every_epochs": None, "keep_last": 3}
SESSION_STEPS = 120
SESSION_PAUSE_SECONDS = 0.1
PAGE = 10_000

Request = dict[str, Any]
Asked = Callable[..., httpx.Response]


class Asking(Protocol):
    """Sends a request until it is answered."""

    def ask(self, method: str, path: str, **arguments: Any) -> httpx.Response:
        """Return the answer."""


@dataclass(frozen=True)
class Kind:
    """A fit, and for how many steps it is extended after its end."""

    request: Request
    more: int = 0


def _classified(shape: tuple[int, ...], layers: list[Any], rows: int = 96) -> Request:
    """Return graph and rows of a classifier with three classes."""
    generator = np.random.default_rng(5)
    x = generator.standard_normal((rows, *shape)).astype("float32")
    label = generator.integers(0, 3, rows)
    inputs = {"x": {"shape": ["batch", *shape]}, "label": {"shape": ["batch"], "dtype": "int64"}}
    graph = {
        "inputs": inputs,
        "layers": [*layers, {"layer": "linear", "units": 3}],
        "loss": {"kind": "cross_entropy", "target": "label"},
    }
    return {"graph": graph, "dataset": {"columns": {"x": x.tolist(), "label": label.tolist()}}}


def _request(**changes: Any) -> Request:
    alone = {"executor": "numpy", "threads": 1}
    return fit_request(**{"steps": STEPS, "checkpoint": CHECKPOINT, "resources": alone, **changes})


def _replicated(**changes: Any) -> Kind:
    return Kind(_request(resources={"threads": 1, "replicas": 2, "placement": "spread"}, **changes))


KINDS: Mapping[str, Kind] = MappingProxyType(
    {
        "sweep": Kind(
            _request(
                steps=STEPS // 2,
                sweep={"kind": "grid", "parameters": {"optimizer.lr": [0.01, 0.03, 0.1]}},
                resources={"threads": 1},
            )
        ),
        "stopping": Kind(
            _request(
                seed=9,
                optimizer={"kind": "adam", "lr": 0.002},
                validation={"split": 0.2},
                early_stopping={"patience": 20, "restore_best": True},
            )
        ),
        "convolution": Kind(
            _request(
                **_classified(
                    (1, 8, 8),
                    [{"layer": "conv2d", "channels": 4, "kernel": 3, "activation": "relu"}, "flatten"],
                )
            )
        ),
        "recurrent": Kind(_request(**_classified((6, 4), [{"layer": "gru", "units": 8}, "flatten"]))),
        "bfloat16": Kind(_request(precision="mixed_bfloat16", seed=11)),
        "extended": Kind(_request(steps=STEPS - MORE, seed=12, schedule={"kind": "cosine", "t_max": 20}), MORE),
        "replicas": _replicated(seed=13),
        "replicas_adam": _replicated(seed=14, optimizer={"kind": "adam", "lr": 0.01}, validation={"split": 0.2}),
    }
)  # fmt: skip


@dataclass(frozen=True)
class Outcome:
    """What must not depend on what was killed: rows of the fit and of its variants, and their last checkpoints."""

    state: str
    rows: list[list[dict[str, Any]]]
    digests: list[str]


@dataclass
class RunningFit:
    """One fit after another of one kind."""

    client: Asking
    kind: str
    number: int = 0
    id: str = ""
    is_extended: bool = False
    rows: list[dict[str, Any]] = field(default_factory=list)
    ended: int = 0
    attempts: int = 0
    outcomes: list[str] = field(default_factory=list)

    def submit(self) -> None:
        """Begin the next fit."""
        self.number += 1
        key = f"{self.kind}-{self.number}"
        answer = self.client.ask("POST", "/v1/fits", json=KINDS[self.kind].request, headers={"Idempotency-Key": key})
        assert answer.status_code == 202, answer.text
        self.id, self.is_extended, self.rows = answer.json()["id"], False, []

    @property
    def progress(self) -> tuple[int, int]:
        """How far it is: fits that have ended, and rows of the one that runs."""
        return self.ended, len(self.rows)

    def read_on(self) -> dict[str, Any]:
        """Read the rows that are new, and return the fit; one that is to be extended is extended at its end."""
        fit = self._fit()
        after = len(self.rows)
        if KINDS[self.kind].request.get("sweep"):
            self.rows = [{}] * max(len(self.rows), fit["step"])  # its rows are those of its variants
        else:
            page = read(self.client, f"/v1/fits/{self.id}/metrics", after=after, limit=PAGE)["data"]
            assert [row["seq"] for row in page] == [*range(after + 1, after + len(page) + 1)], "rows have gaps"
            self.rows += page
        more = KINDS[self.kind].more
        if fit["terminal"] and more and not self.is_extended:
            answer = self.client.ask(
                "POST", f"/v1/fits/{self.id}:extend", json={"steps": more},
                headers={"Idempotency-Key": f"{self.id}-more"},
            )  # fmt: skip
            assert answer.status_code == 202, answer.text
            self.is_extended = True
            fit = self._fit()
            assert not fit["terminal"] or fit["step"] > KINDS[self.kind].request["steps"], (
                "a read is older than a write"
            )
        return fit

    def _fit(self) -> dict[str, Any]:
        found: dict[str, Any] = read(self.client, f"/v1/fits/{self.id}")
        return found

    def _history(self, observed: Observed) -> dict[str, Any]:
        """Return what tells why a fit came to another end."""
        kept = {
            each: [(one["step"], one["digest"], one["created_at"]) for one in _checkpoints(self.client, each)]
            for each in _curves(self.client, self.id)
        }
        events = [(each.kind, each.body) for each in observed.events if each.kind != "metrics"]
        return {"checkpoints": kept, "attempts": observed.fit["attempts"], "events": events[-30:]}

    def check(self, expected: Outcome) -> None:
        """Check all that is left of a fit that has ended."""
        fit = self._fit()
        assert fit["state"] == "succeeded", f"{self.kind} {self.id} ended as {fit['state']}: {fit['error']}"
        observed = observe(self.client, fit)
        invariants.moves_are_legal(observed.events)
        invariants.there_is_one_end(observed.events)
        invariants.rows_are_gap_free(observed.rows)
        if not KINDS[self.kind].request.get("sweep"):
            invariants.rows_never_change(self.rows, observed.rows)
        invariants.attempts_go_forward(observed.fit["attempts"], observed.fit["attempt"], observed.events)
        found = outcome(self.client, self.id)
        for ours, theirs in zip(found.rows, expected.rows, strict=True):
            first = [(a, b) for a, b in zip(ours, theirs, strict=False) if a != b][:1]
            assert ours == theirs, f"{self.kind} {self.id}: {len(ours)} rows for {len(theirs)}, {first}"
        different = (
            f"{found.digests} are not {expected.digests}: {self._history(observed)}" if found != expected else ""
        )
        assert not different, f"{self.kind} {self.id}: the last checkpoint differs: {different}"
        self.ended += 1
        self.attempts += fit["attempt"]
        self.outcomes += [attempt["outcome"] for attempt in fit["attempts"]]


def read(client: Asking, path: str, **params: Any) -> Any:
    """Return what a GET is answered with."""
    answer = client.ask("GET", path, params=params)
    assert answer.status_code == 200, f"{path}: {answer.text}"
    return answer.json()


def observe(client: Asking, fit: dict[str, Any]) -> Observed:
    """Return what is reported of a fit, without its checkpoints."""
    path = f"/v1/fits/{fit['id']}"
    journal = client.ask("GET", f"{path}/events", params={"timeout": LONGEST_WAIT}).text
    rows = read(client, f"{path}/metrics", limit=PAGE)["data"]
    return Observed(fit, rows, [*read_events(journal)], [], {})


def outcome(client: Asking, fit_id: str) -> Outcome:
    """Return what a fit that has ended came to."""
    ids = _curves(client, fit_id)
    return Outcome(
        state=read(client, f"/v1/fits/{fit_id}")["state"],
        rows=[read(client, f"/v1/fits/{each}/metrics", limit=PAGE)["data"] for each in ids],
        digests=[_checkpoints(client, each)[0]["digest"] for each in ids],
    )


def _curves(client: Asking, fit_id: str) -> list[str]:
    """Return the variants of a sweep, or else the fit itself."""
    variants = read(client, "/v1/fits", parent=fit_id, order="asc", limit=1000)["data"]
    return [variant["id"] for variant in variants] or [fit_id]


def _checkpoints(client: Asking, fit_id: str) -> list[dict[str, Any]]:
    """Return the checkpoints of a fit, the furthest first."""
    found: list[dict[str, Any]] = read(client, f"/v1/fits/{fit_id}/checkpoints", order_by="step")["data"]
    return found


def undisturbed(client: Asking) -> tuple[dict[str, Outcome], list[dict[str, Any]]]:
    """Return what each kind of fit comes to, and what the steps of a session answer."""
    running = [RunningFit(client, kind) for kind in KINDS]
    for fit in running:
        fit.submit()
    waiting = {*range(len(running))}
    while waiting:
        waiting -= {number for number in waiting if running[number].read_on()["terminal"]}
        time.sleep(0.1)
    session = Session(client, 0)
    while len(session.answers) < SESSION_STEPS:
        session.take_step()
    return {fit.kind: outcome(client, fit.id) for fit in running}, session.answers


SESSION_GRAPH: Mapping[str, Any] = fit_request(1)["graph"]


@dataclass
class Session:
    """One session after another, whose steps are taken one by one."""

    client: Asking
    which: int
    expected: list[dict[str, Any]] | None = None
    number: int = 0
    id: str = ""
    answers: list[dict[str, Any]] = field(default_factory=list)
    taken: int = 0
    error: BaseException | None = None
    is_over: threading.Event = field(default_factory=threading.Event)

    def take_step(self) -> None:
        """Take the next step; its answer has to be that of the undisturbed session."""
        if not self.id:
            self._begin()
        seq = len(self.answers) + 1
        answer = self._post(*self._step(seq), seq)
        self.answers.append(answer)
        self.taken += 1
        if self.expected is not None:
            expected = self.expected[seq - 1]
            assert answer == expected, f"step {seq} of session {self.id}: {answer} in place of {expected}"
            if seq == SESSION_STEPS:
                self._end()

    def _begin(self) -> None:
        self.number += 1
        answer = self.client.ask(
            "POST", "/v1/sessions",
            json={"graph": SESSION_GRAPH, "optimizer": "adam", "seed": 3, "resources": {"executor": "numpy"}},
            headers={"Idempotency-Key": f"session-{self.which}-{self.number}"},
        )  # fmt: skip
        assert answer.status_code == 201, answer.text
        self.id, self.answers = answer.json()["id"], []

    @staticmethod
    def _step(seq: int) -> tuple[str, Request]:
        if seq % 2 == 0:
            return "optim_step", {}
        rows = np.random.default_rng(seq).standard_normal((8, 6)).round(3)
        return "forward_backward", {"inputs": {"x": rows.tolist(), "label": [seq % 3] * 8}}

    def _post(self, verb: str, body: Request, seq: int) -> dict[str, Any]:
        answer = self.client.ask("POST", f"/v1/sessions/{self.id}:{verb}", json={**body, "seq": seq})
        assert answer.status_code == 200, f"step {seq} of session {self.id}: {answer.status_code} {answer.text}"
        found: dict[str, Any] = answer.json()
        return found

    def _end(self) -> None:
        session = read(self.client, f"/v1/sessions/{self.id}")
        assert session["next_seq"] == SESSION_STEPS + 1, session
        assert self.client.ask("DELETE", f"/v1/sessions/{self.id}").status_code in (204, 404)
        self.id = ""

    def run(self) -> None:
        """Take steps until it is over."""
        try:
            while not self.is_over.is_set():
                self.take_step()
                time.sleep(SESSION_PAUSE_SECONDS)
        except BaseException as error:  # noqa: BLE001 (the test raises it)
            self.error = error
