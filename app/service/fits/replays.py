"""Replays: fits that run another one again, from its bundle."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

import engine
from app.domain.errors import AdjointError, Conflict, Finding, NotFound
from app.domain.fit import ids_in
from app.domain.replay import COMPARED, Replay, numerics_apart
from app.domain.runtime import NUMPY
from app.service.fits.bundle_inputs import request_of
from app.service.fits.fit_view import FitView
from app.service.resources.definitions import read_definition
from app.service.resources.engine_faults import invalid
from app.service.resources.idempotency import Keep
from app.store.unit_of_work import Store

CHANGED = "at step {step} the fit was taken up again after its end, or with other hyperparameters"


class Submit(Protocol):
    """How a fit is queued (see `Fits.submit`)."""

    def __call__(self, request: Mapping[str, Any], keep: Keep[FitView], replay: Replay | None = None) -> FitView:
        """Check and queue `request`, which is a replay."""
        ...


@dataclass(frozen=True, slots=True)
class ReplayTerms:
    """What is new about a replay: its labels and its priority."""

    labels: Mapping[str, str] = field(default_factory=dict)
    priority: str | None = None


class Replays:
    """The use case of replays."""

    def __init__(self, store: Store, bundle_of: Callable[[str], Mapping[str, Any]], submit: Submit) -> None:
        """Find in `store` what a bundle refers to; `bundle_of` makes that of a fit, and `submit` queues fits."""
        self._store = store
        self._bundle_of = bundle_of
        self._submit = submit

    def of_fit(self, fit_id: str, terms: ReplayTerms, keep: Keep[FitView]) -> FitView:
        """Queue a fit that runs one of this server again.

        Invalid if there is no such fit; Conflict if it has not succeeded, is a sweep, or was changed on the way; Gone
        if what it was made of was deleted.
        """
        try:
            bundle = self._bundle_of(fit_id)
        except NotFound as error:
            raise invalid([Finding("/fit", "not_found", error.detail)]) from error
        if bundle["reopened_at"] is not None:
            detail = f"{CHANGED.format(step=bundle['reopened_at'])}, so that no single request reproduces it"
            raise Conflict(detail, code="changed_on_the_way")
        with _faults_at(lambda _pointer: "/fit"):
            return self._replay(bundle, terms, keep)

    def of_bundle(self, bundle: Mapping[str, Any], terms: ReplayTerms, keep: Keep[FitView]) -> FitView:
        """Queue a fit that runs the one of a bundle again, which may come from another server.

        Invalid if the bundle contradicts itself, or something that it refers to is not here.
        """
        with _faults_at(lambda pointer: f"/bundle{pointer}"):
            _check(bundle)
            return self._replay(bundle, terms, keep)

    def _replay(self, bundle: Mapping[str, Any], terms: ReplayTerms, keep: Keep[FitView]) -> FitView:
        with self._store.begin() as work:
            request = request_of(work, bundle)
        resources = _resources(bundle, terms)
        request |= {"labels": dict(terms.labels), "resources": resources}
        with _faults_at(lambda pointer: f"/request{pointer}"):
            return self._submit(request, keep, _terms(bundle, resources))


def _check(bundle: Mapping[str, Any]) -> None:
    """Invalid unless the parts of a bundle fit one another."""
    request, faults = bundle["request"], []
    if bundle["reopened_at"] is not None:
        detail = f"{CHANGED.format(step=bundle['reopened_at'])}; such fits cannot be replayed"
        faults.append(Finding("/reopened_at", "changed_on_the_way", detail))
    if request.get("sweep") is not None:
        faults.append(Finding("/request/sweep", "is_sweep", "a sweep is replayed variant by variant; leave this out"))
    if (request.get("seed") or 0) != bundle["seed"]:
        faults.append(Finding("/seed", "conflict", "this is another seed than that of the request"))
    held_out = (request.get("validation") or {}).get("dataset")
    for name, named in (("datasets", request.get("dataset")), ("validation_datasets", held_out)):
        if isinstance(named, Mapping) or len(ids_in(named)) != len(bundle[name]):
            faults.append(Finding(f"/{name}", "conflict", "these are not as many datasets as the request names by id"))
    if faults:
        raise invalid(faults)
    graph = bundle["graph"]
    if read_definition(graph["definition"], "/graph/definition").digest != graph["digest"]:
        raise invalid([Finding("/graph/digest", "digest_mismatch", "the definition beside it has another digest")])


def _resources(bundle: Mapping[str, Any], terms: ReplayTerms) -> dict[str, Any]:
    """Return what the replay runs with: the executor and threads of the fit, as far as they are here."""
    replicas = (bundle["request"].get("resources") or {}).get("replicas")
    resources: dict[str, Any] = {} if replicas is None else {"replicas": replicas}
    if terms.priority is not None:
        resources["priority"] = terms.priority
    runtime, known = bundle["runtime"], engine.executors()
    if runtime is not None:
        resources["executor"] = runtime["executor"] if runtime["executor"] in known else known[-1]
        resources["threads"] = runtime["threads"]
    return resources


def _terms(bundle: Mapping[str, Any], resources: Mapping[str, Any]) -> Replay:
    before = {} if bundle["runtime"] is None else bundle["runtime"]["fingerprint"]
    expected = {name: bundle["result"][name] for name in COMPARED}
    return Replay(
        of=bundle["fit"]["id"],
        expected={**expected, "fingerprint": before},
        numerics=numerics_apart(before, _numerics(resources)),
    )


def _numerics(resources: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fingerprint that a process with these resources will have here."""
    executor = resources.get("executor") or engine.executors()[-1]
    here = engine.fingerprint(executor)
    # This process has other threads; where the library does not tell how many, neither will the other one.
    if executor == NUMPY and here["blas_threads"].isdigit() and "threads" in resources:
        here["blas_threads"] = str(resources["threads"])
    return here


@contextmanager
def _faults_at(place: Callable[[str], str]) -> Iterator[None]:
    """Let the findings of errors that the block raises point to where `place` says that their pointers lie."""
    try:
        yield
    except AdjointError as error:
        error.findings = tuple(Finding(place(each.pointer), each.code, each.detail) for each in error.findings)
        raise
