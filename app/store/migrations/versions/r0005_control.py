"""What control of fits needs: running times, deadlines, shares, forks, pinned checkpoints, captured gradients.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Add columns and tables. Fits so far are of no share, have no deadline, and count as exact."""
    op.add_column("fits", sa.Column("bit_exact", sa.Boolean, nullable=False, server_default=sa.true()))
    op.add_column("fits", sa.Column("seconds", sa.Float, nullable=False, server_default=sa.text("0")))
    op.add_column("fits", sa.Column("deadline_at", sa.BigInteger))
    op.add_column("fits", sa.Column("share", sa.Text, nullable=False, server_default=sa.text("''")))
    op.add_column("fits", sa.Column("origin", sa.Text))
    op.add_column("fits", sa.Column("reopened_at", sa.BigInteger))
    op.add_column("fits", sa.Column("replay", sa.Text))
    op.create_index(
        "ix_fits_deadline_at",
        "fits",
        ["deadline_at"],
        sqlite_where=sa.text("finished_at IS NULL"),
        postgresql_where=sa.text("finished_at IS NULL"),
    )
    op.add_column("checkpoints", sa.Column("pinned", sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "shares",
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("turn", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_shares"),
    )
    op.create_table(
        "gradients",
        sa.Column("fit_id", sa.Text, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("parameter", sa.Text, nullable=False),
        sa.Column("dtype", sa.Text, nullable=False),
        sa.Column("shape", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("fit_id", "step", "parameter", name="pk_gradients"),
        sa.ForeignKeyConstraint(["fit_id"], ["fits.id"], name="fk_gradients_fit_id", ondelete="CASCADE"),
    )
    op.create_index("ix_gradients_digest", "gradients", ["digest"])
    op.drop_index("ix_fits_turn", "fits")
    op.create_index(
        "ix_fits_turn",
        "fits",
        ["state", sa.text("priority DESC"), "share", "id"],
        sqlite_where=sa.text("parent_id IS NULL"),
        postgresql_where=sa.text("parent_id IS NULL"),
    )
    op.drop_index("ix_fits_parent_id", "fits")
    op.create_index(
        "ix_fits_parent_id",
        "fits",
        ["parent_id"],
        sqlite_where=sa.text("parent_id IS NOT NULL"),
        postgresql_where=sa.text("parent_id IS NOT NULL"),
    )
