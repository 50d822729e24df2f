from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.graph_compute_request_feeds_type_0 import GraphComputeRequestFeedsType0
    from ..models.graph_compute_request_inputs_type_0 import GraphComputeRequestInputsType0
    from ..models.rows_choice import RowsChoice


T = TypeVar("T", bound="GraphComputeRequest")


@_attrs_define
class GraphComputeRequest:
    """A graph computed, forward and backward (ggml_graph_compute, ggml_graph_compute_with_ctx)."""

    abort_after: int | None | str | Unset = UNSET
    """ The node, by position or name, after which the computation is aborted. """
    auto_resume: bool | Unset = False
    """ Whether a paused pool is resumed, as ggml does. """
    feeds: GraphComputeRequestFeedsType0 | None | Unset = UNSET
    """ With rows, input: column; by default the session's, or of equal names. """
    fetch: list[str] | None | Unset = UNSET
    """ Tensors that the answer is to hold. """
    gradients: list[str] | None | Unset = UNSET
    """ Values whose gradients the answer is to hold. """
    graph: str | Unset = "main"
    """ Which graph. """
    inputs: GraphComputeRequestInputsType0 | None | Unset = UNSET
    """ Tensors to set before. """
    n_threads: int | None | Unset = UNSET
    """ Threads; default: those of the pool, or one; below 1: what :graph_plan says. """
    rows: None | RowsChoice | Unset = UNSET
    """ Rows of a dataset for the inputs, in their place. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """
    use_ref: bool | Unset = False
    """ Whether results are computed apart and copied to their place. """
    with_ctx: bool | Unset = False
    """ Whether the work buffer is taken of the context. """
    work_size: int | None | Unset = UNSET
    """ Bytes of the work buffer; by default as many as the plan asks for. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.graph_compute_request_feeds_type_0 import GraphComputeRequestFeedsType0  # noqa: PLC0415
        from ..models.graph_compute_request_inputs_type_0 import GraphComputeRequestInputsType0  # noqa: PLC0415
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415

        abort_after: int | None | str | Unset
        if isinstance(self.abort_after, Unset):
            abort_after = UNSET
        else:
            abort_after = self.abort_after

        auto_resume = self.auto_resume

        feeds: dict[str, Any] | None | Unset
        if isinstance(self.feeds, Unset):
            feeds = UNSET
        elif isinstance(self.feeds, GraphComputeRequestFeedsType0):
            feeds = self.feeds.to_dict()
        else:
            feeds = self.feeds

        fetch: list[str] | None | Unset
        if isinstance(self.fetch, Unset):
            fetch = UNSET
        elif isinstance(self.fetch, list):
            fetch = self.fetch

        else:
            fetch = self.fetch

        gradients: list[str] | None | Unset
        if isinstance(self.gradients, Unset):
            gradients = UNSET
        elif isinstance(self.gradients, list):
            gradients = self.gradients

        else:
            gradients = self.gradients

        graph = self.graph

        inputs: dict[str, Any] | None | Unset
        if isinstance(self.inputs, Unset):
            inputs = UNSET
        elif isinstance(self.inputs, GraphComputeRequestInputsType0):
            inputs = self.inputs.to_dict()
        else:
            inputs = self.inputs

        n_threads: int | None | Unset
        if isinstance(self.n_threads, Unset):
            n_threads = UNSET
        else:
            n_threads = self.n_threads

        rows: dict[str, Any] | None | Unset
        if isinstance(self.rows, Unset):
            rows = UNSET
        elif isinstance(self.rows, RowsChoice):
            rows = self.rows.to_dict()
        else:
            rows = self.rows

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        use_ref = self.use_ref

        with_ctx = self.with_ctx

        work_size: int | None | Unset
        if isinstance(self.work_size, Unset):
            work_size = UNSET
        else:
            work_size = self.work_size

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if abort_after is not UNSET:
            field_dict["abort_after"] = abort_after
        if auto_resume is not UNSET:
            field_dict["auto_resume"] = auto_resume
        if feeds is not UNSET:
            field_dict["feeds"] = feeds
        if fetch is not UNSET:
            field_dict["fetch"] = fetch
        if gradients is not UNSET:
            field_dict["gradients"] = gradients
        if graph is not UNSET:
            field_dict["graph"] = graph
        if inputs is not UNSET:
            field_dict["inputs"] = inputs
        if n_threads is not UNSET:
            field_dict["n_threads"] = n_threads
        if rows is not UNSET:
            field_dict["rows"] = rows
        if seq is not UNSET:
            field_dict["seq"] = seq
        if use_ref is not UNSET:
            field_dict["use_ref"] = use_ref
        if with_ctx is not UNSET:
            field_dict["with_ctx"] = with_ctx
        if work_size is not UNSET:
            field_dict["work_size"] = work_size

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.graph_compute_request_feeds_type_0 import GraphComputeRequestFeedsType0  # noqa: PLC0415
        from ..models.graph_compute_request_inputs_type_0 import GraphComputeRequestInputsType0  # noqa: PLC0415
        from ..models.rows_choice import RowsChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_abort_after(data: object) -> int | None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | str | Unset, data)

        abort_after = _parse_abort_after(d.pop("abort_after", UNSET))

        auto_resume = d.pop("auto_resume", UNSET)

        def _parse_feeds(data: object) -> GraphComputeRequestFeedsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                feeds_type_0 = GraphComputeRequestFeedsType0.from_dict(data)

                return feeds_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphComputeRequestFeedsType0 | None | Unset, data)

        feeds = _parse_feeds(d.pop("feeds", UNSET))

        def _parse_fetch(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                fetch_type_0 = cast(list[str], data)

                return fetch_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        fetch = _parse_fetch(d.pop("fetch", UNSET))

        def _parse_gradients(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                gradients_type_0 = cast(list[str], data)

                return gradients_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        gradients = _parse_gradients(d.pop("gradients", UNSET))

        graph = d.pop("graph", UNSET)

        def _parse_inputs(data: object) -> GraphComputeRequestInputsType0 | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                inputs_type_0 = GraphComputeRequestInputsType0.from_dict(data)

                return inputs_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphComputeRequestInputsType0 | None | Unset, data)

        inputs = _parse_inputs(d.pop("inputs", UNSET))

        def _parse_n_threads(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        n_threads = _parse_n_threads(d.pop("n_threads", UNSET))

        def _parse_rows(data: object) -> None | RowsChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                rows_type_0 = RowsChoice.from_dict(data)

                return rows_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | RowsChoice | Unset, data)

        rows = _parse_rows(d.pop("rows", UNSET))

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        use_ref = d.pop("use_ref", UNSET)

        with_ctx = d.pop("with_ctx", UNSET)

        def _parse_work_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        work_size = _parse_work_size(d.pop("work_size", UNSET))

        graph_compute_request = cls(
            abort_after=abort_after,
            auto_resume=auto_resume,
            feeds=feeds,
            fetch=fetch,
            gradients=gradients,
            graph=graph,
            inputs=inputs,
            n_threads=n_threads,
            rows=rows,
            seq=seq,
            use_ref=use_ref,
            with_ctx=with_ctx,
            work_size=work_size,
        )

        return graph_compute_request
