"""How many reports of an attempt are stored, for processes that go on when the server does not.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; reports of earlier attempts were not kept."""
    op.add_column("attempts", sa.Column("received", sa.Integer, nullable=False, server_default=sa.text("0")))
