from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

T = TypeVar("T", bound="AuditEntry")


@_attrs_define
class AuditEntry:
    """A requested change and its outcome."""

    action: str
    """ The operation; the method, where the request was refused before one was found. """
    address: str
    """ Where the request came from. """
    at: datetime.datetime
    """ Time of the event, RFC 3339 in UTC. """
    hash_: str
    """ SHA-256 of the other fields as a JSON array in this order, without spaces. """
    key_id: None | str
    """ Whose key; setting: ADJOINT_API_KEY; offline: a command; null: none. """
    object_: str
    """ The path of what it was done to, or of what was made. """
    previous: str
    """ The hash of the entry before it. """
    request_id: str
    """ Id of the request, as in the X-Request-ID header. """
    result: str
    """ The status of the answer; done for what a command did offline. """
    seq: int
    """ Its place in the trail: 1, 2, 3 ... """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        action = self.action

        address = self.address

        at = self.at.isoformat()

        hash_ = self.hash_

        key_id: None | str
        key_id = self.key_id

        object_ = self.object_

        previous = self.previous

        request_id = self.request_id

        result = self.result

        seq = self.seq

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "action": action,
                "address": address,
                "at": at,
                "hash": hash_,
                "key_id": key_id,
                "object": object_,
                "previous": previous,
                "request_id": request_id,
                "result": result,
                "seq": seq,
            }
        )

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        action = d.pop("action")

        address = d.pop("address")

        at = datetime.datetime.fromisoformat(d.pop("at"))

        hash_ = d.pop("hash")

        def _parse_key_id(data: object) -> None | str:
            if data is None:
                return data
            return cast(None | str, data)

        key_id = _parse_key_id(d.pop("key_id"))

        object_ = d.pop("object")

        previous = d.pop("previous")

        request_id = d.pop("request_id")

        result = d.pop("result")

        seq = d.pop("seq")

        audit_entry = cls(
            action=action,
            address=address,
            at=at,
            hash_=hash_,
            key_id=key_id,
            object_=object_,
            previous=previous,
            request_id=request_id,
            result=result,
            seq=seq,
        )

        audit_entry.additional_properties = d
        return audit_entry

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
