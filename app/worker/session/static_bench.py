"""A session of kind "static": ggml's low-level flow over the values of a definition."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import engine
from app.domain.messages import SessionAssignment
from app.domain.runtime import Runtime
from app.service.sessions.session_static import static_session
from app.worker.session.bench import Array, Call, Result, Verb, Writable
from app.worker.session.reading import Arrays, looked_at
from app.worker.session.rows import Rows
from app.worker.session.saving import handed_over, with_classes
from app.worker.session.static_building import Building
from app.worker.session.static_computing import Computing
from app.worker.session.static_options import step
from app.worker.session.static_reading import Reading


class StaticBench:
    """Graphs, their tensors and a thread pool, and the verbs that work on them; see `bench.Bench`."""

    def __init__(self, assignment: SessionAssignment, _: Runtime) -> None:
        """Make a context with the tensors of the definition, and an empty graph."""
        request = assignment.request
        self._saved = frozenset(assignment.saved)
        self._session = static_session(engine.parse_graph(assignment.definition), request)
        self._rows = Rows(request["dataset"], request["feeds"] or {}, request.get("classes"))
        building, computing = Building(self._session), Computing(self._session, self._rows)
        own = {
            "save": Verb(self._save, "log"),
            "load": step(self._load, "snapshot"),
            "parameters": Verb(lambda call: looked_at(call, self._parameters, self._parameters)),
            "buffers": Verb(lambda call: looked_at(call, self._buffers, self._parameters)),
            "gradients": Verb(lambda call: looked_at(call, self._gradients, self._parameters)),
        }
        reading = Reading(self._session)
        self.verbs: Mapping[str, Verb] = MappingProxyType({**computing.verbs, **building.verbs, **reading.verbs, **own})

    @property
    def standing(self) -> dict[str, Any]:
        """How many computations there have been. There is no optimizer that steps, and there are no tapes."""
        return {"step": 0, "passes": self._session.computations, "tapes": 0}

    @property
    def holds(self) -> bool:
        """Nothing: all is in a snapshot."""
        return False

    def let_go(self) -> None:
        """Give nothing up."""

    def attach(
        self,
        dataset: str,
        columns: Mapping[str, list[str]],
        names: Mapping[str, list[str]] | None = None,
        classes: Mapping[str, Any] | None = None,
    ) -> None:
        """Let steps take rows of a dataset."""
        self._rows.attach(dataset, columns, names, classes)

    def start_from(self, path: Path, *, parameters_only: bool) -> None:  # noqa: ARG002 (there is nothing else)
        """Begin with parameters and buffers of a checkpoint."""
        self._session.load(engine.Checkpoint.load(path))

    def snapshot(self, file: Writable) -> None:
        """Write graphs, tensors, sums of gradients, results, and what the thread pool is."""
        self._session.snapshot().write(file)

    def restore(self, path: Path) -> Mapping[str, Any]:
        """Take up what `snapshot` wrote."""
        checkpoint = engine.Checkpoint.load(path)
        self._session.restore(checkpoint)
        fingerprint: Mapping[str, Any] = checkpoint.meta["fingerprint"]
        return fingerprint

    @property
    def _parameters(self) -> Mapping[str, Array]:
        return {name: self._session.tensor(name) for name in self._session.definition.parameters}

    @property
    def _buffers(self) -> Mapping[str, Array]:
        return {name: self._session.tensor(name) for name in self._session.definition.buffers}

    @property
    def _gradients(self) -> Arrays:
        """The gradients of the first graph's losses by the parameters; None where there is none yet."""
        return {name: self._session.held_gradient(name) for name in self._session.definition.parameters}

    def _save(self, call: Call) -> Result:
        if call.seq in self._saved:
            return Result({"step": 0})
        return handed_over(call, lambda: with_classes(self._session.learned(), self._rows.classes), {"step": 0})

    def _load(self, call: Call) -> dict[str, Any]:
        self._session.load(engine.Checkpoint.load(Path(call.files["checkpoint"])))
        return {"step": 0}
