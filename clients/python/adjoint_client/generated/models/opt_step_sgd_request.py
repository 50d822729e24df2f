from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define

from ..types import UNSET, Unset

T = TypeVar("T", bound="OptStepSgdRequest")


@_attrs_define
class OptStepSgdRequest:
    """A step of SGD for each parameter, taken with each complete computation (ggml_opt_step_sgd)."""

    pars: list[float]
    """ alpha, wd; then in the tensor "opt pars". """
    graph: str | Unset = "main"
    """ Which graph. """
    parameters: list[str] | None | Unset = UNSET
    """ By default all that have a gradient. """
    seq: int | None | Unset = UNSET
    """ The step's place in the order of steps, from 1 on; by default the next when its turn has come. """

    def to_dict(self) -> dict[str, Any]:
        pars = self.pars

        graph = self.graph

        parameters: list[str] | None | Unset
        if isinstance(self.parameters, Unset):
            parameters = UNSET
        elif isinstance(self.parameters, list):
            parameters = self.parameters

        else:
            parameters = self.parameters

        seq: int | None | Unset
        if isinstance(self.seq, Unset):
            seq = UNSET
        else:
            seq = self.seq

        field_dict: dict[str, Any] = {}

        field_dict.update(
            {
                "pars": pars,
            }
        )
        if graph is not UNSET:
            field_dict["graph"] = graph
        if parameters is not UNSET:
            field_dict["parameters"] = parameters
        if seq is not UNSET:
            field_dict["seq"] = seq

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        pars = cast(list[float], d.pop("pars"))

        graph = d.pop("graph", UNSET)

        def _parse_parameters(data: object) -> list[str] | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            try:
                if not isinstance(data, list):
                    raise TypeError()
                parameters_type_0 = cast(list[str], data)

                return parameters_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(list[str] | None | Unset, data)

        parameters = _parse_parameters(d.pop("parameters", UNSET))

        def _parse_seq(data: object) -> int | None | Unset:
            if data is None:
                return data
            if isinstance(data, Unset):
                return data
            return cast(int | None | Unset, data)

        seq = _parse_seq(d.pop("seq", UNSET))

        opt_step_sgd_request = cls(
            pars=pars,
            graph=graph,
            parameters=parameters,
            seq=seq,
        )

        return opt_step_sgd_request
