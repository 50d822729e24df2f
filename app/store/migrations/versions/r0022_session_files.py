"""The files of sessions where servers have no folder in common.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the table, which is empty where servers share a folder or there is only one."""
    op.create_table(
        "session_files",
        sa.Column("session_id", sa.Text, sa.ForeignKey("sessions.id", ondelete="CASCADE"), nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("start", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary),
        sa.Column("digest", sa.Text),
        sa.PrimaryKeyConstraint("session_id", "name", "start"),
    )
    op.create_index("ix_session_files_digest", "session_files", ["digest"])
    if op.get_bind().dialect.name == "postgresql":
        # Arrays hardly become smaller, and each step would wait for the attempt.
        op.execute("ALTER TABLE session_files ALTER COLUMN data SET STORAGE EXTERNAL")
