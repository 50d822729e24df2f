"""The bench of a session of kind "static": ggml's low-level flow over the values of a definition."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import engine
from app.worker.session.bench import Call, Result, Verb, Writable
from app.worker.session.static_building import Building
from app.worker.session.static_computing import Computing, params_of
from app.worker.session.static_options import step
from app.worker.session.static_reading import Reading

MADE_WITH = ("dims", "size", "grads", "order", "mem_size", "no_alloc", "training")
"""What of a request says how the first graph and its context are made."""


class StaticBench:
    """Graphs, their tensors and a thread pool, and the verbs that work on them."""

    def __init__(self, definition: engine.Definition, request: Mapping[str, Any]) -> None:
        """Make what `request` asks for: a context with the tensors of `definition`, and an empty graph.

        Raises:
            EngineError: it cannot be made so.
        """
        self._session = static_session(definition, request)
        building, computing, reading = Building(self._session), Computing(self._session), Reading(self._session)
        own = {"save": Verb(self._save, "log"), "load": step(self._load, "snapshot")}
        self._verbs = {**building.verbs, **computing.verbs, **reading.verbs, **own}

    @property
    def verbs(self) -> Mapping[str, Verb]:
        """The verbs by name."""
        return self._verbs

    @property
    def standing(self) -> dict[str, Any]:
        """Where it is: how many computations there have been. There is no optimizer, and there are no tapes."""
        return {"step": 0, "passes": self._session.computations, "tapes": 0}

    @property
    def holds(self) -> bool:
        """Everything is in a snapshot."""
        return False

    def let_go(self) -> None:
        """There is nothing to give up."""

    def attach(self, dataset: str, columns: Mapping[str, list[str]]) -> None:
        """Rows of datasets have no place here: inputs are set."""

    def snapshot(self, file: Writable) -> None:
        """Write graphs, tensors, sums of gradients, results, and what the thread pool is."""
        self._session.snapshot().write(file)

    def restore(self, path: Path) -> Mapping[str, Any]:
        """Take up what `snapshot` wrote, and return the fingerprint that it was computed with."""
        checkpoint = engine.Checkpoint.load(path)
        self._session.restore(checkpoint)
        fingerprint: Mapping[str, Any] = checkpoint.meta["fingerprint"]
        return fingerprint

    def begin_with(self, path: Path) -> None:
        """Take parameters and buffers of a checkpoint."""
        self._session.load(engine.Checkpoint.load(path))

    def _save(self, call: Call) -> Result:
        """Hand over parameters and buffers; the rest is of this session alone."""
        whole = self._session.snapshot()
        learned = engine.Checkpoint(whole.parameters, whole.buffers, cursor={"step": 0}, meta=whole.meta)
        return Result(file=call.hand_over(learned.write))

    def _load(self, call: Call) -> dict[str, Any]:
        self.begin_with(Path(call.files["checkpoint"]))
        return {"step": 0}


def static_session(definition: engine.Definition, request: Mapping[str, Any]) -> engine.StaticSession:
    """Make a session of the engine as `request` says.

    Raises:
        EngineError: it cannot be made so.
    """
    asked = request.get("static") or {}
    pool = asked.get("threadpool")
    return engine.StaticSession(
        definition,
        **{name: asked[name] for name in MADE_WITH if asked.get(name) is not None},
        seed=request.get("seed") or 0,
        precision=request.get("precision") or "float32",
        threadpool=None if pool is None else params_of(pool),
    )
