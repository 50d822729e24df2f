"""The front door: one server, its graphs, datasets and fits."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Self
from uuid import uuid4

from adjoint_client._async.administration import AsyncAdministration
from adjoint_client._async.backup import download_backup
from adjoint_client._async.catalogues import AsyncCatalogues
from adjoint_client._async.checkpoint import AsyncCheckpointHandle
from adjoint_client._async.datasets import AsyncDatasets
from adjoint_client._async.resources import AsyncResources
from adjoint_client._async.session import AsyncSession
from adjoint_client._async.static_session import AsyncStaticSession
from adjoint_client._async.sweep import AsyncSweepHandle
from adjoint_client._async.tables import read_blocks
from adjoint_client._async.transport import AsyncTransport, Body
from adjoint_client.address import find_key, find_url
from adjoint_client.computed import Computed, wants_to_wire
from adjoint_client.frames import is_frame
from adjoint_client.generated.operations import OPERATIONS
from adjoint_client.generated.records import Dataset, Fit, Graph
from adjoint_client.generated.records import Session as SessionInfo
from adjoint_client.gradcheck import GradientChecks
from adjoint_client.operation import answer_of, find_operation
from adjoint_client.references import reference, references, session_request
from adjoint_client.table_body import Delimiter, ImageDtype, ImageMode, csv_dialect, image_options, table_body
from adjoint_client.tensors import all_to_wire
from adjoint_client.waiting import PATIENCE_SECONDS

if TYPE_CHECKING:
    from types import TracebackType
    from typing import Unpack

    import httpx
    from numpy.typing import ArrayLike

    from adjoint_client._async.fit import AsyncFitHandle
    from adjoint_client.archive import Manifest
    from adjoint_client.frames import Frame
    from adjoint_client.generated.schemas import FitOptions, OptimizerChoice, SessionOptions, SystemOverview
    from adjoint_client.references import DatasetLike, GraphLike, Validation


class AsyncClient(AsyncResources, AsyncDatasets, AsyncCatalogues):
    """One server; use it as a context, or close it."""

    def __init__(
        self,
        base_url: str | None = None,
        api_key: str | None = None,
        *,
        timeout: float | httpx.Timeout | None = None,
        http: Mapping[str, Any] | None = None,
    ) -> None:
        """Speak with the server at `base_url`; without one ADJOINT_URL counts, then http://127.0.0.1:8000.

        The key is `api_key`, else that in the file ADJOINT_KEY_FILE, else ADJOINT_KEY; "" is none. `timeout` is for how
        many seconds the server may be silent, by default 60. `http` has further options of `httpx.AsyncClient`:
        `verify`, `proxy`, `headers` ...; steps of sessions use `verify` and the key, and no proxy.

        Raises:
            ValueError: the address or the key cannot be used; the message says what to write.
        """
        self._transport = AsyncTransport(find_url(base_url), find_key(api_key), timeout, http or {})
        self.administration = AsyncAdministration(self._transport)
        """Keys, and the audit trail."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close every connection."""
        await self._transport.aclose()

    async def call(self, operation: str, body: Any = None, **parameters: Any) -> Any:
        """Call any operation of the server by its name in `adjoint_client.generated.operations`.

        `parameters` are those of its path and query; `body` is a JSON value. Returns the JSON of the answer, text
        where the answer is text, and bytes where it is anything else.

        Raises:
            ValueError: there is no such operation.
            TypeError: a parameter is unknown or missing.
            ServerError: the server refused.
        """
        found = find_operation(OPERATIONS, operation)
        path, query = found.request(parameters)
        response = await self._transport.send(found.method, path, params=query, json=body)
        return answer_of(response)

    async def system(self) -> SystemOverview:
        """Return what the server says of itself: versions, workers, queue, limits."""
        document: SystemOverview = await self._transport.get("/v1/system")
        return document

    async def backup(self, path: str | PathLike[str]) -> Manifest:
        """Write everything that the server has stored to a file, while it goes on to work; return what that holds.

        `adjoint restore` makes a data directory of it.

        Raises:
            BackupDamaged: what arrived is not a whole backup; nothing was written.
            ServerError: another backup is being made, for example.
            ServerUnreachable: the connection was lost; nothing was written.
        """
        return await download_backup(self._transport, Path(path))

    async def graph(self, definition: Mapping[str, Any]) -> Graph:
        """Store a graph, given as nodes, layers or program; a fault is raised with its place in `definition`."""
        return Graph(await self._transport.create("/v1/graphs", definition))

    async def upload(
        self,
        source: Mapping[str, ArrayLike] | Frame | str | PathLike[str],
        *,
        name: str | None = None,
        columns: str | None = None,
        header: bool | None = None,
        missing: Sequence[str] = (),
        delimiter: Delimiter = "auto",
        decimal: Literal["point", "comma"] = "point",
        encoding: Literal["utf-8", "latin-1", "windows-1252"] = "utf-8",
        image_size: str | None = None,
        image_mode: ImageMode | None = None,
        image_dtype: ImageDtype | None = None,
    ) -> Dataset:
        """Store a dataset: arrays by column, a data frame, or a file (csv, json, ndjson, npy, npz, parquet, zip, ...).

        A data frame is one of pandas or polars, or a table of Arrow; texts in it become classes, and bytes images (this
        needs pyarrow).

        `columns` selects and groups the columns of a CSV file or data frame by name, as in
        `x:float32[4]=sepal_length..petal_width,species:class`, or by position if a file has no header, as in
        `x:float32[4],species:class`. `header` says whether line 1 of a file names the columns; None lets the server
        decide, which refuses a file where that is not clear. `missing` are cells of a CSV file that stand for missing
        values beside empty ones: `["NA", "?"]`; `delimiter`, `decimal` and `encoding` say how the file is written.

        A zip file holds PNG and JPEG images, labelled by folders or by a CSV file in it; they become a column `image`.
        Parquet and Arrow files and data frames may hold them as columns of bytes. Images become [channels, height,
        width], scaled to `image_size` ("32x32"; by default they must be of one size), with the channels of `image_mode`
        (RGB), as `image_dtype` (uint8, from 0 to 255).

        Raises:
            ServerError: the server cannot read the data; `findings` say where.
            TypeError: a column of a data frame holds something else than numbers, texts, or equally long lists.
        """
        dialect = csv_dialect(missing, delimiter, decimal, encoding)
        dialect |= image_options(image_size, image_mode, image_dtype)
        table = table_body(source, columns, header, read_blocks, dialect)
        query = dict(table.query)
        if name is not None:
            query["name"] = name
        elif isinstance(source, str | PathLike):
            query["name"] = Path(source).stem
        return await self._upload(table.open, table.size, table.kind, query)

    async def _upload(self, body: Callable[[], Body], size: int, kind: str, query: Mapping[str, str]) -> Dataset:
        headers = {"Content-Type": kind, "Content-Length": str(size), "Idempotency-Key": str(uuid4())}
        response = await self._transport.send("POST", "/v1/datasets", params=query, body=body, headers=headers)
        return Dataset(response.json())

    async def fit(
        self,
        graph: GraphLike | None,
        dataset: DatasetLike,
        *,
        validation: Validation | None = None,
        **fields: Unpack[FitOptions],
    ) -> AsyncFitHandle:
        """Start to fit `graph` (an id, a graph or a definition) to `dataset` (an id, a dataset or arrays by column).

        Without a graph, `target="price"` names the column to predict; the server proposes the rest, and shows it in the
        request of the fit.

        Several datasets, in a list, are joined in their order. `validation` is a share of the rows to hold out, other
        datasets, or an object with its options. The rest are the fields of a fit: `epochs` or `steps` is needed;
        `optimizer={"kind": "adam", "lr": 0.001}`, `batch_size`, `metrics`, `normalize={"x": "standard"}`,
        `early_stopping={"patience": 5}`, `average="ema"`, `resources={"replicas": 2}`, `seed` ... See `sweep` for
        many at once.

        Raises:
            ServerError: a field is wrong; nothing has been started.
        """
        return self._handle(await self._submit(graph, dataset, validation, fields))

    async def sweep(
        self,
        graph: GraphLike,
        dataset: DatasetLike,
        parameters: Mapping[str, Sequence[Any] | Mapping[str, Any]],
        *,
        kind: Literal["grid", "random", "halving"] = "grid",
        samples: int | None = None,
        sweep_seed: int | None = None,
        eta: int | None = None,
        min_steps: int | None = None,
        monitor: str | None = None,
        mode: Literal["min", "max"] | None = None,
        validation: Validation | None = None,
        **fields: Unpack[FitOptions],
    ) -> AsyncSweepHandle:
        """Start variants of one fit, which differ in `parameters`: by path a list of values, or a range to draw from.

        `{"optimizer.lr": [0.1, 0.01], "seed": [0, 1]}` makes four variants as a "grid". "random" draws `samples`
        combinations, also from ranges such as `{"min": 1e-4, "max": 0.1, "log": True}`; "halving" lets the best of
        every `eta` go on from rung to rung. The rest are the fields of a fit, as for `fit`.

        Raises:
            ServerError: a field or a value is wrong; nothing has been started.
        """
        options: dict[str, Any] = {"kind": kind, "parameters": dict(parameters), "samples": samples, "seed": sweep_seed}
        options.update(eta=eta, min_steps=min_steps, monitor=monitor, mode=mode)
        sweep = {name: value for name, value in options.items() if value is not None}
        submitted = await self._submit(graph, dataset, validation, {**fields, "sweep": sweep})
        return AsyncSweepHandle(self._transport, submitted)

    async def _submit(
        self,
        graph: GraphLike | None,
        dataset: DatasetLike,
        validation: Validation | None,
        fields: Mapping[str, Any],
    ) -> Fit:
        given: Any = dataset
        if isinstance(given, Mapping) or is_frame(given):
            given = await self.upload(given)
        request: dict[str, Any] = {"dataset": references(given), **fields}
        if graph is not None:
            request["graph"] = reference(graph)
        if isinstance(validation, float):
            request["validation"] = {"split": validation}
        elif validation is not None:
            request["validation"] = (
                validation if isinstance(validation, Mapping) else {"dataset": references(validation)}
            )
        return Fit(await self._transport.create("/v1/fits", request))

    async def replay(
        self,
        what: str | AsyncFitHandle | Mapping[str, Any],
        *,
        labels: Mapping[str, str] | None = None,
        priority: Literal["low", "normal", "high"] | None = None,
    ) -> AsyncFitHandle:
        """Run a fit again (its id, a handle, or a bundle of any server) to see whether the same bits come out.

        Wait for the fit that is returned; then see its `verdict`.

        Raises:
            ServerError: there is no such fit, or it cannot be reproduced; or the server lacks data of the bundle.
        """
        request: dict[str, Any] = {"bundle": what} if isinstance(what, Mapping) else {"fit": _fit_id(what)}
        if labels is not None:
            request["labels"] = labels
        if priority is not None:
            request["resources"] = {"priority": priority}
        return self._handle(Fit(await self._transport.create("/v1/fits:replay", request)))

    async def session(
        self,
        graph: GraphLike | None = None,
        *,
        checkpoint: str | AsyncCheckpointHandle | None = None,
        optimizer: str | OptimizerChoice | None = None,
        lr: float | None = None,
        dataset: str | Dataset | Mapping[str, ArrayLike] | None = None,
        keep: bool = False,
        patience: float = PATIENCE_SECONDS,
        **fields: Unpack[SessionOptions],
    ) -> AsyncSession:
        """Open a session, whose training loop is yours, over a graph or from a checkpoint.

        The optimizer is its kind, by default "adam", or an object with options; `lr` is its rate. `dataset` is what
        `session.rows` takes rows of. The rest are the fields of a session: `seed`, `clip={"norm": 5.0}`, `feeds`,
        `precision`, `restore`, `labels`, `ttl_seconds` ... As a context the session is closed in the end, unless it is
        to be kept. A lost server is waited for up to `patience` seconds.

        Raises:
            ServerError: a field is wrong; nothing has been started.
        """
        if fields.get("kind") == "static":
            raise TypeError("a session of kind static has verbs of its own; open it by static_session()")
        if isinstance(dataset, Mapping):
            dataset = await self.upload(dataset)
        named = checkpoint.id if isinstance(checkpoint, AsyncCheckpointHandle) else checkpoint
        request = session_request(graph, named, optimizer, lr, dataset, fields)
        info = SessionInfo(await self._transport.create("/v1/sessions", request))
        return AsyncSession(self._transport, info, patience=patience, keep=keep)

    async def static_session(
        self,
        graph: GraphLike | None = None,
        *,
        dims: Mapping[str, int] | None = None,
        checkpoint: str | AsyncCheckpointHandle | None = None,
        dataset: str | Dataset | Mapping[str, ArrayLike] | None = None,
        keep: bool = False,
        patience: float = PATIENCE_SECONDS,
        **fields: Unpack[SessionOptions],
    ) -> AsyncStaticSession:
        """Open a session of kind static, ggml's flow: graphs that you expand, differentiate and compute by name.

        `dims` has a number for each extent that the graph names. The rest are the fields of a session: `size`,
        `mem_size`, `no_alloc`, `training`, `seed`, `precision`, `threadpool={"n_threads": 2}`, `feeds`, `labels` ...

        Raises:
            ServerError: a field is wrong; nothing has been started.
        """
        if isinstance(dataset, Mapping):
            dataset = await self.upload(dataset)
        named = checkpoint.id if isinstance(checkpoint, AsyncCheckpointHandle) else checkpoint
        given = {"kind": "static", **({} if dims is None else {"dims": dict(dims)}), **fields}
        request = session_request(graph, named, None, None, dataset, given)
        info = SessionInfo(await self._transport.create("/v1/sessions", request))
        return AsyncStaticSession(self._transport, info, patience=patience, keep=keep)

    async def open_static_session(
        self, session_id: str, *, keep: bool = True, patience: float = PATIENCE_SECONDS
    ) -> AsyncStaticSession:
        """Return a session of kind static that was opened before; as a context it is kept by default."""
        return AsyncStaticSession(self._transport, await self._opened(session_id, "static"), patience, keep)

    async def open_session(
        self, session_id: str, *, keep: bool = True, patience: float = PATIENCE_SECONDS
    ) -> AsyncSession:
        """Return a session that was opened before, to go on where it stands; as a context it is kept by default."""
        return AsyncSession(self._transport, await self._opened(session_id, "training"), patience, keep)

    async def _opened(self, session_id: str, kind: str) -> SessionInfo:
        info = SessionInfo(await self._transport.get(f"/v1/sessions/{session_id}", {"wake": "true"}))
        if str(info.kind) != kind:
            opener = "open_static_session" if kind == "training" else "open_session"
            raise TypeError(f"the session is of kind {info.kind}; open it by {opener}()")
        return info

    async def compute(
        self,
        graph: GraphLike,
        inputs: Mapping[str, ArrayLike] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        *,
        want: Sequence[str | Mapping[str, Any]] = ("outputs", "gradients"),
        **fields: Any,
    ) -> Computed:
        """Evaluate a graph once, without a job; parameters left out start as the graph says, from `seed`.

        A want is "outputs", "gradients" or a derivative such as `{"jacobian": {"of": "pred", "by": "w"}}`,
        `{"hvp": {"by": {"w": direction}}}` or `{"gradient_of": ["pred"], "cotangents": {"pred": array}, "by": ["x"]}`.
        """
        request = {"want": wants_to_wire(want), **_point(inputs, parameters), **fields}
        return Computed.from_wire(await self._act_on(graph, "compute", request))

    async def gradcheck(
        self,
        graph: GraphLike,
        inputs: Mapping[str, ArrayLike] | None = None,
        parameters: Mapping[str, ArrayLike] | None = None,
        **fields: Any,
    ) -> GradientChecks:
        """Compare the gradients of a graph with central differences in float64.

        `by=["w", "x"]` names parameters and inputs (by default all parameters), `elements` is how many of each are
        looked at; the others are `of`, `eps`, `atol`, `rtol`, `seed` and `training`.
        """
        request = {**_point(inputs, parameters), **fields}
        return GradientChecks.from_wire(await self._act_on(graph, "gradcheck", request))

    async def _act_on(self, graph: GraphLike, action: str, request: Mapping[str, Any]) -> dict[str, Any]:
        if isinstance(graph, Mapping):
            graph = await self.graph(graph)
        answer: dict[str, Any] = await self._transport.post(f"/v1/graphs/{reference(graph)}:{action}", request)
        return answer


def _point(
    inputs: Mapping[str, ArrayLike] | None, parameters: Mapping[str, ArrayLike] | None
) -> dict[str, dict[str, Any]]:
    """Return the fields of a request that say where a graph is looked at."""
    given = {"inputs": inputs, "parameters": parameters}
    return {name: all_to_wire(arrays) for name, arrays in given.items() if arrays is not None}


def _fit_id(fit: str | AsyncFitHandle) -> str:
    return fit if isinstance(fit, str) else fit.id
