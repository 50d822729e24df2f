"""How the images of a column became arrays.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Columns of earlier datasets do not say it: for them it is NULL."""
    op.add_column("dataset_columns", sa.Column("images", sa.Text))
