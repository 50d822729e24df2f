# Made from _async/administration.py by clients/generate.py: change that file.
"""What administrators do: keys, and the audit trail."""

from collections.abc import Iterator, Sequence
from typing import Any

from adjoint_client._sync.transport import Transport

_A_PAGE = 1000


class Administration:
    """Keys and the audit trail of one server; needs a key with the scope admin, unless the server has none."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def create_key(
        self, name: str, scopes: Sequence[str], expires_at: str | None = None, tenant: str | None = None
    ) -> dict[str, Any]:
        """Make a key; what clients send is in `key`, and returned only this once.

        `scopes` are of read, train and admin; `expires_at` is a moment as 2027-01-31T12:00:00Z;
        `tenant` whose things it is for, by default those of the caller.

        Raises:
            ServerError: a field is wrong, or this client may not make keys.
        """
        asked = {"name": name, "scopes": [*scopes], "expires_at": expires_at, "tenant": tenant}
        made: dict[str, Any] = (self._transport.send("POST", "/v1/keys", json=asked)).json()
        return made

    def list_keys(self) -> list[dict[str, Any]]:
        """Return all keys, without their secrets, the newest first."""
        return [key for key in self._all("/v1/keys", "desc")]

    def revoke_key(self, key_id: str) -> None:
        """End a key at once."""
        self._transport.send("DELETE", f"/v1/keys/{key_id}", repeatable=True)

    def audit_entries(self) -> Iterator[dict[str, Any]]:
        """Yield the audit trail from the oldest entry that is in the database."""
        for entry in self._all("/v1/audit", "asc"):
            yield entry

    def _all(self, path: str, order: str) -> Iterator[dict[str, Any]]:
        query: dict[str, Any] = {"limit": _A_PAGE, "order": order}
        while True:
            page = self._transport.get(path, query)
            for item in page["data"]:
                yield item
            if not page["has_more"]:
                return
            query["cursor"] = page["next_cursor"]
