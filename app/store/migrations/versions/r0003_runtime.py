"""What the last process of a fit ran with: executor, threads, CPUs.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add the column; fits so far ran with NumPy and say nothing."""
    op.add_column("fits", sa.Column("runtime", sa.Text))
