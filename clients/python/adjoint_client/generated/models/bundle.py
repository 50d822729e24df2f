from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from attrs import define as _attrs_define

if TYPE_CHECKING:
    from ..models.bundle_attempt import BundleAttempt
    from ..models.bundle_dataset import BundleDataset
    from ..models.bundle_fit import BundleFit
    from ..models.bundle_graph import BundleGraph
    from ..models.bundle_origin import BundleOrigin
    from ..models.bundle_result import BundleResult
    from ..models.bundle_runtime import BundleRuntime
    from ..models.bundle_server import BundleServer
    from ..models.fit_request import FitRequest


T = TypeVar("T", bound="Bundle")


@_attrs_define
class Bundle:
    """All that decides about the result of a fit, and that result.

    The order of names within graph and request counts: metric rows, and sums over parameters, go by it.

    """

    attempts: list[BundleAttempt]
    """ The attempts so far, in order. """
    bit_exact: bool
    """ False if the fit went on under other numerics than it began with. """
    datasets: list[BundleDataset]
    """ The datasets, in order. """
    fit: BundleFit
    """ Which fit it was. """
    format_: Literal["adjoint-bundle/1"]
    """ Format of the file or document. """
    graph: BundleGraph
    """ The graph, complete. """
    object_: Literal["bundle"]
    """ Type of the object. """
    origin: BundleOrigin | None
    """ Where it was forked from; null if it was not. """
    reopened_at: int | None
    """ The step at which it was last taken up again or changed. """
    request: FitRequest
    """ A fit: a graph, rows, and how to go about it. Needs graph, dataset, and one of epochs and steps.

    Null stands for the default, unless a description says otherwise. With from_checkpoint every field that is left
    out
    is taken from the request of the checkpoint's fit, but for labels, start_paused and a deadline. """
    result: BundleResult
    """ What the fit came to; its state is that of its last checkpoint. """
    runtime: BundleRuntime | None
    """ Executor, threads and numerics of the processes. """
    seed: int
    """ Seed of the random numbers. """
    server: BundleServer
    """ What made the bundle. """
    validation_datasets: list[BundleDataset]
    """ The datasets of the validation, in order. """

    def to_dict(self) -> dict[str, Any]:
        from ..models.bundle_origin import BundleOrigin  # noqa: PLC0415
        from ..models.bundle_runtime import BundleRuntime  # noqa: PLC0415

        attempts = []
        for attempts_item_data in self.attempts:
            attempts_item = attempts_item_data.to_dict()
            attempts.append(attempts_item)

        bit_exact = self.bit_exact

        datasets = []
        for datasets_item_data in self.datasets:
            datasets_item = datasets_item_data.to_dict()
            datasets.append(datasets_item)

        fit = self.fit.to_dict()

        format_ = self.format_

        graph = self.graph.to_dict()

        object_ = self.object_

        origin: dict[str, Any] | None
        if isinstance(self.origin, BundleOrigin):
            origin = self.origin.to_dict()
        else:
            origin = self.origin

        reopened_at: int | None
        reopened_at = self.reopened_at

        request = self.request.to_dict()

        result = self.result.to_dict()

        runtime: dict[str, Any] | None
        if isinstance(self.runtime, BundleRuntime):
            runtime = self.runtime.to_dict()
        else:
            runtime = self.runtime

        seed = self.seed

        server = self.server.to_dict()

        validation_datasets = []
        for validation_datasets_item_data in self.validation_datasets:
            validation_datasets_item = validation_datasets_item_data.to_dict()
            validation_datasets.append(validation_datasets_item)

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "attempts": attempts,
                "bit_exact": bit_exact,
                "datasets": datasets,
                "fit": fit,
                "format": format_,
                "graph": graph,
                "object": object_,
                "origin": origin,
                "reopened_at": reopened_at,
                "request": request,
                "result": result,
                "runtime": runtime,
                "seed": seed,
                "server": server,
                "validation_datasets": validation_datasets,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        from ..models.bundle_attempt import BundleAttempt  # noqa: PLC0415
        from ..models.bundle_dataset import BundleDataset  # noqa: PLC0415
        from ..models.bundle_fit import BundleFit  # noqa: PLC0415
        from ..models.bundle_graph import BundleGraph  # noqa: PLC0415
        from ..models.bundle_origin import BundleOrigin  # noqa: PLC0415
        from ..models.bundle_result import BundleResult  # noqa: PLC0415
        from ..models.bundle_runtime import BundleRuntime  # noqa: PLC0415
        from ..models.bundle_server import BundleServer  # noqa: PLC0415
        from ..models.fit_request import FitRequest  # noqa: PLC0415

        d = dict(src_dict)
        attempts = []
        _attempts = d.pop("attempts")
        for attempts_item_data in _attempts:
            attempts_item = BundleAttempt.from_dict(attempts_item_data)

            attempts.append(attempts_item)

        bit_exact = d.pop("bit_exact")

        datasets = []
        _datasets = d.pop("datasets")
        for datasets_item_data in _datasets:
            datasets_item = BundleDataset.from_dict(datasets_item_data)

            datasets.append(datasets_item)

        fit = BundleFit.from_dict(d.pop("fit"))

        format_ = cast(Literal["adjoint-bundle/1"], d.pop("format"))
        if format_ != "adjoint-bundle/1":
            raise ValueError(f"format must match const 'adjoint-bundle/1', got '{format_}'")

        graph = BundleGraph.from_dict(d.pop("graph"))

        object_ = cast(Literal["bundle"], d.pop("object"))
        if object_ != "bundle":
            raise ValueError(f"object must match const 'bundle', got '{object_}'")

        def _parse_origin(data: object) -> BundleOrigin | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                origin_type_0 = BundleOrigin.from_dict(data)

                return origin_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BundleOrigin | None, data)

        origin = _parse_origin(d.pop("origin"))

        def _parse_reopened_at(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        reopened_at = _parse_reopened_at(d.pop("reopened_at"))

        request = FitRequest.from_dict(d.pop("request"))

        result = BundleResult.from_dict(d.pop("result"))

        def _parse_runtime(data: object) -> BundleRuntime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, dict):
                    raise TypeError()
                runtime_type_0 = BundleRuntime.from_dict(data)

                return runtime_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(BundleRuntime | None, data)

        runtime = _parse_runtime(d.pop("runtime"))

        seed = d.pop("seed")

        server = BundleServer.from_dict(d.pop("server"))

        validation_datasets = []
        _validation_datasets = d.pop("validation_datasets")
        for validation_datasets_item_data in _validation_datasets:
            validation_datasets_item = BundleDataset.from_dict(validation_datasets_item_data)

            validation_datasets.append(validation_datasets_item)

        bundle = cls(
            attempts=attempts,
            bit_exact=bit_exact,
            datasets=datasets,
            fit=fit,
            format_=format_,
            graph=graph,
            object_=object_,
            origin=origin,
            reopened_at=reopened_at,
            request=request,
            result=result,
            runtime=runtime,
            seed=seed,
            server=server,
            validation_datasets=validation_datasets,
        )

        return bundle
