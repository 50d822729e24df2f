"""The steps of a session of kind static, each declared once; the server's reference says more of each."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from adjoint_client.http1 import Answer
from adjoint_client.rows import Rows
from adjoint_client.step import Array, Arrays, Document, Step
from adjoint_client.tensors import from_wire, to_wire

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

MAIN = "main"

Named: TypeAlias = "Mapping[str, ArrayLike]"


@dataclass(frozen=True, slots=True)
class GraphComputed:
    """The result of a computation.

    Attributes:
        status: "SUCCESS" or "ABORTED".
        computed: how many nodes were visited.
        losses: by name.
        tensors, gradients: those that were asked for, None for what there is not.
        warnings: what was asked for and could not be granted.
    """

    status: str
    computed: int
    losses: Mapping[str, float | None]
    tensors: Mapping[str, Array | None]
    gradients: Mapping[str, Array | None]
    warnings: Sequence[str]

    @classmethod
    def from_wire(cls, answer: Document, _arrays: Arrays | None = None) -> GraphComputed:
        """Read an answer."""
        found = {name: _tensors(answer[name]) for name in ("tensors", "gradients")}
        return cls(answer["status"], answer["computed"], answer["losses"], warnings=answer["warnings"], **found)


def build_forward_expand(
    outputs: Sequence[str], *, graph: str = MAIN, order: str | None = None, compute: bool | None = None
) -> Step[Document]:
    """Append values of the definition and all they depend on to a graph."""
    return _step("build_forward_expand", graph, outputs=[*outputs], order=order, compute=compute)


def build_forward_select(branches: Sequence[str], index: int, *, graph: str = MAIN) -> Step[Document]:
    """Append several values, but compute the one at `index`."""
    return _step("build_forward_select", graph, branches=[*branches], index=index)


def build_backward_expand(
    accumulators: Named | Sequence[ArrayLike | None] | None = None,
    *,
    graph: str = MAIN,
    accumulate: bool | None = None,
) -> Step[Document]:
    """Append the gradients of the losses; accumulators are what they are added to, by name or one for each output."""
    given: Any = accumulators
    if isinstance(accumulators, Mapping):
        given = _sent(accumulators)
    elif accumulators is not None:
        given = [None if each is None else to_wire(each, nonfinite=True) for each in accumulators]
    return _step("build_backward_expand", graph, accumulators=given, accumulate=accumulate)


def tensor_set(
    tensors: Named | None = None,
    /,
    *,
    graph: str = MAIN,
    accumulators: Named | None = None,
    elements: Sequence[Mapping[str, Any]] | None = None,
    **arrays: ArrayLike,
) -> Step[Document]:
    """Write leaves, sums of gradients by what they are of, then single elements: all of them, or none.

    Leaves are arrays by name, in a mapping or as keywords; an element is {"tensor", "index", "value"}.
    """
    return _step(
        "tensor_set",
        graph,
        tensors=_sent({**(tensors or {}), **arrays}) or None,
        accumulators=None if accumulators is None else _sent(accumulators),
        elements=None if elements is None else [*elements],
    )


def graph_compute(
    inputs: Named | Rows | None = None,
    /,
    *,
    graph: str = MAIN,
    fetch: Sequence[str] | None = None,
    gradients: Sequence[str] | None = None,
    n_threads: int | None = None,
    abort_after: int | str | None = None,
    auto_resume: bool | None = None,
    with_ctx: bool | None = None,
    work_size: int | None = None,
    use_ref: bool | None = None,
    **arrays: ArrayLike,
) -> Step[GraphComputed]:
    """Set leaves and compute a graph, forward and backward; `fetch` and `gradients` name what the answer holds."""
    fed: Document = {"inputs": _sent({**(inputs or {}), **arrays}) or None} if not isinstance(inputs, Rows) else {}
    if isinstance(inputs, Rows):
        if arrays:
            raise TypeError(f"give rows of a dataset or arrays, not both: {', '.join(arrays)}")
        fed = {"rows": inputs.reference, "feeds": inputs.feeds}
    options = {
        "fetch": None if fetch is None else [*fetch],
        "gradients": None if gradients is None else [*gradients],
        "n_threads": n_threads,
        "abort_after": abort_after,
        "auto_resume": auto_resume,
        "with_ctx": with_ctx,
        "work_size": work_size,
        "use_ref": use_ref,
    }
    return Step("graph_compute", GraphComputed.from_wire, _given(graph=graph, **fed, **options))


def graph_reset(*, graph: str = MAIN, grads: bool | None = None, momenta: bool | None = None) -> Step[Document]:
    """Set sums of gradients to 0 and the seeds of losses to 1; with `momenta` moments to 0."""
    return _step("graph_reset", graph, grads=grads, momenta=momenta)


def new_graph(
    name: str, *, size: int | None = None, grads: bool | None = None, order: str | None = None
) -> Step[Document]:
    """Make an empty graph, in the place of the one that was called so."""
    return _step("new_graph", None, name=name, size=size, grads=grads, order=order)


def graph_dup(name: str, *, graph: str = MAIN, force_grads: bool | None = None) -> Step[Document]:
    """Make a copy of a graph over the same tensors."""
    return _step("graph_dup", graph, name=name, force_grads=force_grads)


def graph_view(name: str, start: int, stop: int, *, graph: str = MAIN) -> Step[Document]:
    """Make a graph that shows the nodes start..stop-1 of another."""
    return _step("graph_view", graph, name=name, start=start, stop=stop)


def graph_cpy(name: str, *, graph: str = MAIN) -> Step[Document]:
    """Let the graph called `name` hold what another one holds."""
    return _step("graph_cpy", graph, name=name)


def graph_clear(*, graph: str = MAIN) -> Step[Document]:
    """Take everything out of a graph."""
    return _step("graph_clear", graph)


def graph_free(graph: str) -> Step[Document]:
    """Let go of a graph."""
    return _step("graph_free", graph)


def set_param(names: Sequence[str]) -> Step[Document]:
    """Mark leaves as parameters, before they are expanded."""
    return _step("set_param", None, names=[*names])


def set_loss(names: Sequence[str], *, graph: str = MAIN) -> Step[Document]:
    """Mark values as losses of a graph."""
    return _step("set_loss", graph, names=[*names])


def set_name(tensor: str, name: str, *, graph: str = MAIN) -> Step[Document]:
    """Call a value of a graph something else."""
    return _step("set_name", graph, tensor=tensor, name=name)


def opt_step_adamw(
    pars: Sequence[float], *, parameters: Sequence[str] | None = None, graph: str = MAIN
) -> Step[Document]:
    """Append a step of AdamW: pars are alpha, beta1, beta2, eps, wd, beta1h, beta2h."""
    return _opt_step("opt_step_adamw", pars, parameters, graph)


def opt_step_sgd(
    pars: Sequence[float], *, parameters: Sequence[str] | None = None, graph: str = MAIN
) -> Step[Document]:
    """Append a step of SGD: pars are alpha and wd."""
    return _opt_step("opt_step_sgd", pars, parameters, graph)


def threadpool_new(**params: Any) -> Step[Document]:
    """Make a thread pool: `n_threads=2, poll=0, paused=True` ..."""
    return _step("threadpool_new", None, params=params)


def threadpool_free() -> Step[Document]:
    """End the threads of the pool."""
    return _step("threadpool_free", None)


def threadpool_pause() -> Step[Document]:
    """Have the pool take no work until it is resumed."""
    return _step("threadpool_pause", None)


def threadpool_resume() -> Step[Document]:
    """Have the pool take work again."""
    return _step("threadpool_resume", None)


def threadpool_params_match(**params: Any) -> Step[bool]:
    """Tell whether the pool is such a one."""
    return Step("threadpool_params_match", lambda answer, _: bool(answer["matches"]), {"params": params}, ordered=False)


def json_of(answer: Answer) -> Document:
    """Return what an answer in JSON says."""
    document: Document = json.loads(answer.body)
    return document


def tensor_of(document: Mapping[str, Any]) -> Array:
    """Return the array of a tensor in an answer."""
    return from_wire(document)


def _opt_step(verb: str, pars: Sequence[float], parameters: Sequence[str] | None, graph: str) -> Step[Document]:
    names = None if parameters is None else [*parameters]
    return _step(verb, graph, pars=[float(number) for number in pars], parameters=names)


def _step(verb: str, graph: str | None, **options: Any) -> Step[Document]:
    return Step(verb, lambda answer, _: answer, _given(graph=graph, **options))


def _sent(arrays: Named) -> Document:
    return {name: to_wire(array, nonfinite=True) for name, array in arrays.items()}


def _given(**options: Any) -> Document:
    return {name: value for name, value in options.items() if value is not None}


def _tensors(documents: Mapping[str, Any]) -> dict[str, Array | None]:
    return {name: None if document is None else from_wire(document) for name, document in documents.items()}
