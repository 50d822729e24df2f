from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any, Literal, TypeVar, cast

from attrs import define as _attrs_define
from attrs import field as _attrs_field

from ..models.new_api_key_scopes_item import NewApiKeyScopesItem, check_new_api_key_scopes_item
from ..types import UNSET, Unset

T = TypeVar("T", bound="NewApiKey")


@_attrs_define
class NewApiKey:
    """A key that was made just now."""

    closed_server: bool
    """ Whether this is the first key, which closed the server: from now on every request needs one. """
    created_at: datetime.datetime
    """ Time of creation, RFC 3339 in UTC. """
    expires_at: datetime.datetime | None
    """ Time after which the key is not accepted, RFC 3339 in UTC; null: it does not expire. """
    id: str
    """ Unique id. """
    key: str
    """ What clients send. It is told this once, and not kept. """
    name: str
    """ Name. """
    revoked_at: datetime.datetime | None
    """ Time at which the key was revoked, RFC 3339 in UTC; null if it was not. """
    scopes: list[NewApiKeyScopesItem]
    """ What it may be used for: read (GET), train (everything else), admin (keys, the audit trail, backups). train
    includes read, admin both. """
    tenant: str
    """ Whose things it is for: it gives no sight of those of others. """
    used_at: datetime.datetime | None
    """ When it was last used, to about a minute. """
    object_: Literal["key"] | Unset = "key"
    """ Type of the object. """
    additional_properties: dict[str, Any] = _attrs_field(init=False, factory=dict)

    def to_dict(self) -> dict[str, Any]:
        closed_server = self.closed_server

        created_at = self.created_at.isoformat()

        expires_at: None | str
        if isinstance(self.expires_at, datetime.datetime):
            expires_at = self.expires_at.isoformat()
        else:
            expires_at = self.expires_at

        id = self.id

        key = self.key

        name = self.name

        revoked_at: None | str
        if isinstance(self.revoked_at, datetime.datetime):
            revoked_at = self.revoked_at.isoformat()
        else:
            revoked_at = self.revoked_at

        scopes = []
        for scopes_item_data in self.scopes:
            scopes_item: str = scopes_item_data
            scopes.append(scopes_item)

        tenant = self.tenant

        used_at: None | str
        if isinstance(self.used_at, datetime.datetime):
            used_at = self.used_at.isoformat()
        else:
            used_at = self.used_at

        object_ = self.object_

        field_dict: dict[str, Any] = {}
        field_dict.update(self.additional_properties)
        field_dict.update(
            {
                "closed_server": closed_server,
                "created_at": created_at,
                "expires_at": expires_at,
                "id": id,
                "key": key,
                "name": name,
                "revoked_at": revoked_at,
                "scopes": scopes,
                "tenant": tenant,
                "used_at": used_at,
            }
        )
        if object_ is not UNSET:
            field_dict["object"] = object_

        return field_dict

    @classmethod
    def from_dict(cls: type[T], src_dict: Mapping[str, Any]) -> T:
        d = dict(src_dict)
        closed_server = d.pop("closed_server")

        created_at = datetime.datetime.fromisoformat(d.pop("created_at"))

        def _parse_expires_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                expires_at_type_0 = datetime.datetime.fromisoformat(data)

                return expires_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        expires_at = _parse_expires_at(d.pop("expires_at"))

        id = d.pop("id")

        key = d.pop("key")

        name = d.pop("name")

        def _parse_revoked_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                revoked_at_type_0 = datetime.datetime.fromisoformat(data)

                return revoked_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        revoked_at = _parse_revoked_at(d.pop("revoked_at"))

        scopes = []
        _scopes = d.pop("scopes")
        for scopes_item_data in _scopes:
            scopes_item = check_new_api_key_scopes_item(scopes_item_data)

            scopes.append(scopes_item)

        tenant = d.pop("tenant")

        def _parse_used_at(data: object) -> datetime.datetime | None:
            if data is None:
                return data
            try:
                if not isinstance(data, str):
                    raise TypeError()
                used_at_type_0 = datetime.datetime.fromisoformat(data)

                return used_at_type_0
            except (TypeError, ValueError, AttributeError, KeyError):
                pass
            return cast(datetime.datetime | None, data)

        used_at = _parse_used_at(d.pop("used_at"))

        object_ = cast(Literal["key"] | Unset, d.pop("object", UNSET))
        if object_ != "key" and not isinstance(object_, Unset):
            raise ValueError(f"object must match const 'key', got '{object_}'")

        new_api_key = cls(
            closed_server=closed_server,
            created_at=created_at,
            expires_at=expires_at,
            id=id,
            key=key,
            name=name,
            revoked_at=revoked_at,
            scopes=scopes,
            tenant=tenant,
            used_at=used_at,
            object_=object_,
        )

        new_api_key.additional_properties = d
        return new_api_key

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
