"""A later release than this one: its sources, with another version and one more migration, which extends the schema."""

import shutil
import sys
from pathlib import Path

from app.store.migrations import HEAD
from tests.support import gate
from tests.support.server import LAUNCH

ROOT = Path(__file__).parents[2]
VERSION = "99.0.0"
REVISION = f"{int(HEAD) + 1:04}"

MIGRATION = f'''
"""Columns of all tables, and a table."""

import sqlalchemy as sa
from alembic import op

revision = "{REVISION}"
down_revision = "{HEAD}"
branch_labels = None
depends_on = None


def upgrade() -> None:
    for table in sa.inspect(op.get_bind()).get_table_names():
        if table != "alembic_version":
            op.add_column(table, sa.Column("later", sa.Text, nullable=False, server_default=""))
    op.create_table("later_notes", sa.Column("id", sa.Text, primary_key=True), sa.Column("text", sa.Text))
'''


def newer_release(folder: Path, held_by: gate.Gate) -> tuple[str, ...]:
    """Write the sources to a folder; return the command that serves with them, by whose gate fits are held."""
    shutil.copytree(ROOT / "app", folder / "app")  # with what is compiled of them, which stays valid
    (folder / "engine").symlink_to(ROOT / "engine")
    support = folder / "tests" / "support"
    support.mkdir(parents=True)
    shutil.copy2(gate.__file__, support)
    migrations = folder / "app" / "store" / "migrations"
    (migrations / "versions" / f"r{REVISION}_later.py").write_text(MIGRATION)
    _replace(migrations / "__init__.py", f'HEAD = "{HEAD}"', f'HEAD = "{REVISION}"')
    _replace(folder / "app" / "config" / "settings.py", "return version(DISTRIBUTION)", f'return "{VERSION}"')
    use_sources = f"import sys; sys.path.insert(0, {str(folder)!r})"
    use_gate = f"from pathlib import Path; from tests.support import gate; gate.use_gate(Path({str(held_by.path)!r}))"
    return sys.executable, "-c", f"{use_sources}\n{use_gate}\n{LAUNCH}"


def _replace(path: Path, text: str, by: str) -> None:
    """Replace what is there once."""
    content = path.read_text()
    assert content.count(text) == 1, path
    path.write_text(content.replace(text, by))
