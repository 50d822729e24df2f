"""What administrators do: keys, and the audit trail."""

from collections.abc import AsyncIterator, Sequence
from typing import Any

from adjoint_client._async.transport import AsyncTransport

_A_PAGE = 1000


class AsyncAdministration:
    """Keys and the audit trail of one server; needs a key with the scope admin, unless the server has none."""

    def __init__(self, transport: AsyncTransport) -> None:
        self._transport = transport

    async def create_key(
        self, name: str, scopes: Sequence[str], expires_at: str | None = None, tenant: str | None = None
    ) -> dict[str, Any]:
        """Make a key; what clients send is in `key`, and returned only this once.

        `scopes` are of read, train and admin; `expires_at` is a moment as 2027-01-31T12:00:00Z;
        `tenant` whose things it is for, by default those of the caller.

        Raises:
            ServerError: a field is wrong, or this client may not make keys.
        """
        asked = {"name": name, "scopes": [*scopes], "expires_at": expires_at, "tenant": tenant}
        made: dict[str, Any] = (await self._transport.send("POST", "/v1/keys", json=asked)).json()
        return made

    async def list_keys(self) -> list[dict[str, Any]]:
        """Return all keys, without their secrets, the newest first."""
        return [key async for key in self._all("/v1/keys", "desc")]

    async def revoke_key(self, key_id: str) -> None:
        """End a key at once."""
        await self._transport.send("DELETE", f"/v1/keys/{key_id}", repeatable=True)

    async def audit_entries(self) -> AsyncIterator[dict[str, Any]]:
        """Yield the audit trail from the oldest entry that is in the database."""
        async for entry in self._all("/v1/audit", "asc"):
            yield entry

    async def _all(self, path: str, order: str) -> AsyncIterator[dict[str, Any]]:
        query: dict[str, Any] = {"limit": _A_PAGE, "order": order}
        while True:
            page = await self._transport.get(path, query)
            for item in page["data"]:
                yield item
            if not page["has_more"]:
                return
            query["cursor"] = page["next_cursor"]
