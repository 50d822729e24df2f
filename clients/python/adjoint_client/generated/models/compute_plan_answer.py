from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="ComputePlanAnswer")


@_attrs_define
class ComputePlanAnswer:
    """How a graph would be computed (ggml_cplan)."""

    abort_callback: bool
    """ Whether the computation is aborted after a given node. """
    n_threads: int
    """ Number of threads. """
    nbytes: int
    """ Bytes of leaves and results together. """
    seq: int | None
    """ The place that the step took; null for one that only reads. """
    threadpool: bool
    """ Whether the session's pool computes; else one is made and freed. """
    use_ref: bool
    """ Whether results are computed separately and copied to their place. """
    warnings: list[str]
    """ Requests that could not be met. """
    work_size: int
    """ Bytes of the work buffer. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        abort_callback = self.abort_callback

        n_threads = self.n_threads

        nbytes = self.nbytes

        seq: int | None
        seq = self.seq

        threadpool = self.threadpool

        use_ref = self.use_ref

        warnings = self.warnings

        work_size = self.work_size

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "abort_callback": abort_callback,
                "n_threads": n_threads,
                "nbytes": nbytes,
                "seq": seq,
                "threadpool": threadpool,
                "use_ref": use_ref,
                "warnings": warnings,
                "work_size": work_size,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        abort_callback = d.pop("abort_callback")

        n_threads = d.pop("n_threads")

        nbytes = d.pop("nbytes")

        def _parse_seq(data: object) -> int | None:
            if data is None:
                return data
            return cast(int | None, data)

        seq = _parse_seq(d.pop("seq"))

        threadpool = d.pop("threadpool")

        use_ref = d.pop("use_ref")

        warnings = cast(list[str], d.pop("warnings"))

        work_size = d.pop("work_size")

        compute_plan_answer = cls(
            abort_callback=abort_callback,
            n_threads=n_threads,
            nbytes=nbytes,
            seq=seq,
            threadpool=threadpool,
            use_ref=use_ref,
            warnings=warnings,
            work_size=work_size,
        )

        compute_plan_answer.additional_properties = d
        return compute_plan_answer

    @property
    def additional_keys(self) -> list[str]:
        return list(self.additional_properties.keys())

    def __getitem__(self, key: str) -> Any:
        return self.additional_properties[key]

    def __setitem__(self, key: str, value: Any) -> None:
        self.additional_properties[key] = value

    def __delitem__(self, key: str) -> None:
        del self.additional_properties[key]

    def __contains__(self, key: str) -> bool:
        return key in self.additional_properties
