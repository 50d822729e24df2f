"""Whether a file is a sound database of ours, before anything in it is relied on."""

import sqlite3
from contextlib import closing
from pathlib import Path

from app.domain.errors import DatabaseUnusable

# What a database of ours is made of: no trigger or view, which would run code of whoever wrote the file.
_FOREIGN = "SELECT name FROM sqlite_master WHERE type NOT IN ('table', 'index')"


def check_database(path: Path) -> None:
    """DatabaseUnusable if the file is damaged, or holds what no server of ours puts into a database."""
    try:
        with closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as connection:
            connection.execute("PRAGMA trusted_schema=OFF")
            foreign = connection.execute(_FOREIGN).fetchall()
            ((verdict,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
            orphans = connection.execute("PRAGMA foreign_key_check").fetchall()
    except sqlite3.DatabaseError as error:
        raise DatabaseUnusable(f"its database cannot be read: {error}") from error
    if foreign:
        raise DatabaseUnusable("its database holds a trigger or a view, which no server puts there")
    if verdict != "ok" or orphans:
        raise DatabaseUnusable(f"its database is damaged: {verdict if verdict != 'ok' else 'rows refer to none'}")
