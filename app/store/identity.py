"""Which data directory the database belongs to."""

from sqlalchemy import Connection, insert, select

from app.store.tables import identity


class Identity:
    """The identity of the data directory, within one unit of work."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def get(self) -> str | None:
        """Return it; None in a database that was not opened by a server with this table yet."""
        found: str | None = self._connection.execute(select(identity.c.id)).scalar()
        return found

    def set(self, directory_id: str) -> None:
        """Store it in a database that has none."""
        self._connection.execute(insert(identity), {"id": directory_id})
