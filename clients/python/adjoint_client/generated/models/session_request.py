from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeVar, cast

from attrs import define as _attrs_define

from ..models.session_request_kind import SessionRequestKind, check_session_request_kind
from ..models.session_request_order_type_0 import SessionRequestOrderType0, check_session_request_order_type_0
from ..models.session_request_precision_type_0 import (
    SessionRequestPrecisionType0,
    check_session_request_precision_type_0,
)
from ..models.session_request_restore_type_0 import SessionRequestRestoreType0, check_session_request_restore_type_0
from ..types import UNSET, Unset

if TYPE_CHECKING:
    from ..models.clip_choice import ClipChoice
    from ..models.graph_definition import GraphDefinition
    from ..models.optimizer_choice import OptimizerChoice
    from ..models.session_request_classes_type_0 import SessionRequestClassesType0
    from ..models.session_request_dims_type_0 import SessionRequestDimsType0
    from ..models.session_request_feeds_type_0 import SessionRequestFeedsType0
    from ..models.session_request_labels_type_0 import SessionRequestLabelsType0
    from ..models.session_resources_choice import SessionResourcesChoice
    from ..models.threadpool_choice import ThreadpoolChoice


T = TypeVar("T", bound="SessionRequest")


@_attrs_define
class SessionRequest:
    """A session: a graph or a checkpoint, and the optimizer that its steps use. Null stands for the default."""

    checkpoint: None | str | Unset = UNSET
    """ Id of a checkpoint to begin at; by default parameters are initialised. """
    classes: None | SessionRequestClassesType0 | Unset = UNSET
    """ Input: the class names of its text column, as in a fit; by default those of the checkpoint, else of the
    dataset that first feeds it. """
    clip: ClipChoice | None | Unset = UNSET
    """ Gradient clipping. """
    dataset: None | str | Unset = UNSET
    """ Id of the dataset that steps take rows of, unless they name another. """
    dims: None | SessionRequestDimsType0 | Unset = UNSET
    """ A number for each extent that the graph names. """
    feeds: None | SessionRequestFeedsType0 | Unset = UNSET
    """ Input: column, for steps that do not say so; by default of equal names. """
    grads: bool | None | Unset = UNSET
    """ Whether it can be differentiated; default true. """
    graph: GraphDefinition | str | Unset = UNSET
    """ Id of a graph, or a graph; by default that of the checkpoint. """
    kind: SessionRequestKind | Unset = "training"
    """ training: the verbs of a training loop. static: those of ggml's flow. """
    labels: None | SessionRequestLabelsType0 | Unset = UNSET
    """ Labels: keys with values, for filtering lists. """
    mem_size: int | None | Unset = UNSET
    """ Bytes of the context that tensors and graphs are charged to; by default no bound. """
    no_alloc: bool | None | Unset = UNSET
    """ Whether the context is not charged for the elements of tensors; default false. """
    optimizer: None | OptimizerChoice | str | Unset = UNSET
    """ As in a fit; by default adam. """
    order: None | SessionRequestOrderType0 | Unset = UNSET
    """ Which input of a node is visited first; default left_to_right. """
    precision: None | SessionRequestPrecisionType0 | Unset = UNSET
    """ Number formats; default "float32". """
    resources: None | SessionResourcesChoice | Unset = UNSET
    """ Threads, replicas, priority and time limits. """
    restore: None | SessionRequestRestoreType0 | Unset = UNSET
    """ What is taken of the checkpoint; default all, if its optimizer is the session's, else parameters. """
    seed: int | None | Unset = UNSET
    """ What first values and random draws come from; default 0. """
    size: int | None | Unset = UNSET
    """ Nodes, and leafs, that the first graph holds at most; default 2048. """
    start_paused: bool | None | Unset = UNSET
    """ Whether it waits to be resumed; default false. """
    threadpool: None | ThreadpoolChoice | Unset = UNSET
    """ A pool that graphs are computed on; by default threads are made when needed. """
    threads: int | None | Unset = UNSET
    """ Short for resources.threads. """
    training: bool | None | Unset = UNSET
    """ Whether dropout drops and batch norm uses the batch's statistics; default true. """
    ttl_seconds: float | None | Unset = UNSET
    """ Without a step for so long, it is saved as a checkpoint and expires; default 3600. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.clip_choice import ClipChoice  # noqa: PLC0415
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.optimizer_choice import OptimizerChoice  # noqa: PLC0415
        from ..models.session_request_classes_type_0 import SessionRequestClassesType0  # noqa: PLC0415
        from ..models.session_request_dims_type_0 import SessionRequestDimsType0  # noqa: PLC0415
        from ..models.session_request_feeds_type_0 import SessionRequestFeedsType0  # noqa: PLC0415
        from ..models.session_request_labels_type_0 import SessionRequestLabelsType0  # noqa: PLC0415
        from ..models.session_resources_choice import SessionResourcesChoice  # noqa: PLC0415
        from ..models.threadpool_choice import ThreadpoolChoice  # noqa: PLC0415

        checkpoint: None | str | Unset
        if isinstance(self.checkpoint, Unset):
            checkpoint = UNSET
        else:
            checkpoint = self.checkpoint

        classes: dict[str, Any] | None | Unset
        if isinstance(self.classes, Unset):
            classes = UNSET
        elif isinstance(self.classes, SessionRequestClassesType0):
            classes = self.classes.to_dict()
        else:
            classes = self.classes

        clip: dict[str, Any] | None | Unset
        if isinstance(self.clip, Unset):
            clip = UNSET
        elif isinstance(self.clip, ClipChoice):
            clip = self.clip.to_dict()
        else:
            clip = self.clip

        dataset: None | str | Unset
        if isinstance(self.dataset, Unset):
            dataset = UNSET
        else:
            dataset = self.dataset

        dims: dict[str, Any] | None | Unset
        if isinstance(self.dims, Unset):
            dims = UNSET
        elif isinstance(self.dims, SessionRequestDimsType0):
            dims = self.dims.to_dict()
        else:
            dims = self.dims

        feeds: dict[str, Any] | None | Unset
        if isinstance(self.feeds, Unset):
            feeds = UNSET
        elif isinstance(self.feeds, SessionRequestFeedsType0):
            feeds = self.feeds.to_dict()
        else:
            feeds = self.feeds

        grads: bool | None | Unset
        if isinstance(self.grads, Unset):
            grads = UNSET
        else:
            grads = self.grads

        graph: dict[str, Any] | str | Unset
        if isinstance(self.graph, Unset):
            graph = UNSET
        elif isinstance(self.graph, GraphDefinition):
            graph = self.graph.to_dict()
        else:
            graph = self.graph

        kind: str | Unset = UNSET
        if not isinstance(self.kind, Unset):
            kind = self.kind

        labels: dict[str, Any] | None | Unset
        if isinstance(self.labels, Unset):
            labels = UNSET
        elif isinstance(self.labels, SessionRequestLabelsType0):
            labels = self.labels.to_dict()
        else:
            labels = self.labels

        mem_size: int | None | Unset
        if isinstance(self.mem_size, Unset):
            mem_size = UNSET
        else:
            mem_size = self.mem_size

        no_alloc: bool | None | Unset
        if isinstance(self.no_alloc, Unset):
            no_alloc = UNSET
        else:
            no_alloc = self.no_alloc

        optimizer: dict[str, Any] | None | str | Unset
        if isinstance(self.optimizer, Unset):
            optimizer = UNSET
        elif isinstance(self.optimizer, OptimizerChoice):
            optimizer = self.optimizer.to_dict()
        else:
            optimizer = self.optimizer

        order: None | str | Unset
        if isinstance(self.order, Unset):
            order = UNSET
        elif isinstance(self.order, str):
            order = self.order
        else:
            order = self.order

        precision: None | str | Unset
        if isinstance(self.precision, Unset):
            precision = UNSET
        elif isinstance(self.precision, str):
            precision = self.precision
        else:
            precision = self.precision

        resources: dict[str, Any] | None | Unset
        if isinstance(self.resources, Unset):
            resources = UNSET
        elif isinstance(self.resources, SessionResourcesChoice):
            resources = self.resources.to_dict()
        else:
            resources = self.resources

        restore: None | str | Unset
        if isinstance(self.restore, Unset):
            restore = UNSET
        elif isinstance(self.restore, str):
            restore = self.restore
        else:
            restore = self.restore

        seed: int | None | Unset
        if isinstance(self.seed, Unset):
            seed = UNSET
        else:
            seed = self.seed

        size: int | None | Unset
        if isinstance(self.size, Unset):
            size = UNSET
        else:
            size = self.size

        start_paused: bool | None | Unset
        if isinstance(self.start_paused, Unset):
            start_paused = UNSET
        else:
            start_paused = self.start_paused

        threadpool: dict[str, Any] | None | Unset
        if isinstance(self.threadpool, Unset):
            threadpool = UNSET
        elif isinstance(self.threadpool, ThreadpoolChoice):
            threadpool = self.threadpool.to_dict()
        else:
            threadpool = self.threadpool

        threads: int | None | Unset
        if isinstance(self.threads, Unset):
            threads = UNSET
        else:
            threads = self.threads

        training: bool | None | Unset
        if isinstance(self.training, Unset):
            training = UNSET
        else:
            training = self.training

        ttl_seconds: float | None | Unset
        if isinstance(self.ttl_seconds, Unset):
            ttl_seconds = UNSET
        else:
            ttl_seconds = self.ttl_seconds

        field_dict: dict[str, Any] = {}

        field_dict.update({})
        if checkpoint is not UNSET:
            field_dict["checkpoint"] = checkpoint
        if classes is not UNSET:
            field_dict["classes"] = classes
        if clip is not UNSET:
            field_dict["clip"] = clip
        if dataset is not UNSET:
            field_dict["dataset"] = dataset
        if dims is not UNSET:
            field_dict["dims"] = dims
        if feeds is not UNSET:
            field_dict["feeds"] = feeds
        if grads is not UNSET:
            field_dict["grads"] = grads
        if graph is not UNSET:
            field_dict["graph"] = graph
        if kind is not UNSET:
            field_dict["kind"] = kind
        if labels is not UNSET:
            field_dict["labels"] = labels
        if mem_size is not UNSET:
            field_dict["mem_size"] = mem_size
        if no_alloc is not UNSET:
            field_dict["no_alloc"] = no_alloc
        if optimizer is not UNSET:
            field_dict["optimizer"] = optimizer
        if order is not UNSET:
            field_dict["order"] = order
        if precision is not UNSET:
            field_dict["precision"] = precision
        if resources is not UNSET:
            field_dict["resources"] = resources
        if restore is not UNSET:
            field_dict["restore"] = restore
        if seed is not UNSET:
            field_dict["seed"] = seed
        if size is not UNSET:
            field_dict["size"] = size
        if start_paused is not UNSET:
            field_dict["start_paused"] = start_paused
        if threadpool is not UNSET:
            field_dict["threadpool"] = threadpool
        if threads is not UNSET:
            field_dict["threads"] = threads
        if training is not UNSET:
            field_dict["training"] = training
        if ttl_seconds is not UNSET:
            field_dict["ttl_seconds"] = ttl_seconds

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.clip_choice import ClipChoice  # noqa: PLC0415
        from ..models.graph_definition import GraphDefinition  # noqa: PLC0415
        from ..models.optimizer_choice import OptimizerChoice  # noqa: PLC0415
        from ..models.session_request_classes_type_0 import SessionRequestClassesType0  # noqa: PLC0415
        from ..models.session_request_dims_type_0 import SessionRequestDimsType0  # noqa: PLC0415
        from ..models.session_request_feeds_type_0 import SessionRequestFeedsType0  # noqa: PLC0415
        from ..models.session_request_labels_type_0 import SessionRequestLabelsType0  # noqa: PLC0415
        from ..models.session_resources_choice import SessionResourcesChoice  # noqa: PLC0415
        from ..models.threadpool_choice import ThreadpoolChoice  # noqa: PLC0415

        d = dict(src_dict)

        def _parse_checkpoint(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        checkpoint = _parse_checkpoint(d.pop("checkpoint", UNSET))

        def _parse_classes(data: object) -> None | SessionRequestClassesType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                classes_type_0 = SessionRequestClassesType0.from_dict(data)

                return classes_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRequestClassesType0 | Unset, data)

        classes = _parse_classes(d.pop("classes", UNSET))

        def _parse_clip(data: object) -> ClipChoice | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                clip_type_0 = ClipChoice.from_dict(data)

                return clip_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(ClipChoice | None | Unset, data)

        clip = _parse_clip(d.pop("clip", UNSET))

        def _parse_dataset(data: object) -> None | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(None | str | Unset, data)

        dataset = _parse_dataset(d.pop("dataset", UNSET))

        def _parse_dims(data: object) -> None | SessionRequestDimsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                dims_type_0 = SessionRequestDimsType0.from_dict(data)

                return dims_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRequestDimsType0 | Unset, data)

        dims = _parse_dims(d.pop("dims", UNSET))

        def _parse_feeds(data: object) -> None | SessionRequestFeedsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                feeds_type_0 = SessionRequestFeedsType0.from_dict(data)

                return feeds_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRequestFeedsType0 | Unset, data)

        feeds = _parse_feeds(d.pop("feeds", UNSET))

        def _parse_grads(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        grads = _parse_grads(d.pop("grads", UNSET))

        def _parse_graph(data: object) -> GraphDefinition | str | Unset:
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                graph_type_1 = GraphDefinition.from_dict(data)

                return graph_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(GraphDefinition | str | Unset, data)

        graph = _parse_graph(d.pop("graph", UNSET))

        _kind = d.pop("kind", UNSET)
        kind: SessionRequestKind | Unset
        if isinstance(_kind, Unset):
            kind = UNSET
        else:
            kind = check_session_request_kind(_kind)

        def _parse_labels(data: object) -> None | SessionRequestLabelsType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                labels_type_0 = SessionRequestLabelsType0.from_dict(data)

                return labels_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRequestLabelsType0 | Unset, data)

        labels = _parse_labels(d.pop("labels", UNSET))

        def _parse_mem_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        mem_size = _parse_mem_size(d.pop("mem_size", UNSET))

        def _parse_no_alloc(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        no_alloc = _parse_no_alloc(d.pop("no_alloc", UNSET))

        def _parse_optimizer(data: object) -> None | OptimizerChoice | str | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                optimizer_type_1 = OptimizerChoice.from_dict(data)

                return optimizer_type_1
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | OptimizerChoice | str | Unset, data)

        optimizer = _parse_optimizer(d.pop("optimizer", UNSET))

        def _parse_order(data: object) -> None | SessionRequestOrderType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                order_type_0 = check_session_request_order_type_0(data)

                return order_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRequestOrderType0 | Unset, data)

        order = _parse_order(d.pop("order", UNSET))

        def _parse_precision(data: object) -> None | SessionRequestPrecisionType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                precision_type_0 = check_session_request_precision_type_0(data)

                return precision_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRequestPrecisionType0 | Unset, data)

        precision = _parse_precision(d.pop("precision", UNSET))

        def _parse_resources(data: object) -> None | SessionResourcesChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                resources_type_0 = SessionResourcesChoice.from_dict(data)

                return resources_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionResourcesChoice | Unset, data)

        resources = _parse_resources(d.pop("resources", UNSET))

        def _parse_restore(data: object) -> None | SessionRequestRestoreType0 | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                restore_type_0 = check_session_request_restore_type_0(data)

                return restore_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | SessionRequestRestoreType0 | Unset, data)

        restore = _parse_restore(d.pop("restore", UNSET))

        def _parse_seed(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seed = _parse_seed(d.pop("seed", UNSET))

        def _parse_size(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        size = _parse_size(d.pop("size", UNSET))

        def _parse_start_paused(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        start_paused = _parse_start_paused(d.pop("start_paused", UNSET))

        def _parse_threadpool(data: object) -> None | ThreadpoolChoice | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                threadpool_type_0 = ThreadpoolChoice.from_dict(data)

                return threadpool_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(None | ThreadpoolChoice | Unset, data)

        threadpool = _parse_threadpool(d.pop("threadpool", UNSET))

        def _parse_threads(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        threads = _parse_threads(d.pop("threads", UNSET))

        def _parse_training(data: object) -> bool | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(bool | None | Unset, data)

        training = _parse_training(d.pop("training", UNSET))

        def _parse_ttl_seconds(data: object) -> float | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(float | None | Unset, data)

        ttl_seconds = _parse_ttl_seconds(d.pop("ttl_seconds", UNSET))

        session_request = cls(
            checkpoint=checkpoint,
            classes=classes,
            clip=clip,
            dataset=dataset,
            dims=dims,
            feeds=feeds,
            grads=grads,
            graph=graph,
            kind=kind,
            labels=labels,
            mem_size=mem_size,
            no_alloc=no_alloc,
            optimizer=optimizer,
            order=order,
            precision=precision,
            resources=resources,
            restore=restore,
            seed=seed,
            size=size,
            start_paused=start_paused,
            threadpool=threadpool,
            threads=threads,
            training=training,
            ttl_seconds=ttl_seconds,
        )

        return session_request
