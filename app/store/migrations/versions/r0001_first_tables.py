"""The first tables.

Frozen: a later change of the schema is a later revision.
"""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Make the tables in the order of their foreign keys."""
    _graphs()
    _datasets()
    _fits()
    _attempts()
    _events()
    _checkpoints()
    _idempotency_keys()


def _graphs() -> None:
    op.create_table(
        "graphs",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("definition", sa.Text, nullable=False),
        sa.Column("report", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_graphs"),
    )


def _datasets() -> None:
    op.create_table(
        "datasets",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("rows", sa.BigInteger, nullable=False),
        sa.Column("format", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_datasets"),
    )
    op.create_index("ix_datasets_digest", "datasets", ["digest"])
    op.create_table(
        "dataset_columns",
        sa.Column("dataset_id", sa.Text, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("dtype", sa.Text, nullable=False),
        sa.Column("shape", sa.Text, nullable=False),
        sa.Column("blob", sa.Text, nullable=False),
        sa.Column("minimum", sa.Text),
        sa.Column("maximum", sa.Text),
        sa.Column("mean", sa.Text),
        sa.Column("missing", sa.BigInteger, nullable=False),
        sa.Column("classes", sa.Text),
        sa.PrimaryKeyConstraint("dataset_id", "position", name="pk_dataset_columns"),
        sa.ForeignKeyConstraint(
            ["dataset_id"], ["datasets.id"], name="fk_dataset_columns_dataset_id", ondelete="CASCADE"
        ),
    )
    op.create_index("ix_dataset_columns_blob", "dataset_columns", ["blob"])


def _fits() -> None:
    op.create_table(
        "fits",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("state", sa.String(16), nullable=False),
        sa.Column("phase", sa.Text, nullable=False),
        sa.Column("graph_id", sa.Text, nullable=False),
        sa.Column("dataset_id", sa.Text, nullable=False),
        sa.Column("request", sa.Text, nullable=False),
        sa.Column("labels", sa.Text, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("total_steps", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("latest", sa.Text, nullable=False),
        sa.Column("best", sa.Text),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("attempts_max", sa.Integer, nullable=False),
        sa.Column("error", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("started_at", sa.BigInteger),
        sa.Column("finished_at", sa.BigInteger),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_fits"),
    )
    op.create_index("ix_fits_graph_id", "fits", ["graph_id"])
    op.create_index("ix_fits_dataset_id", "fits", ["dataset_id"])
    op.create_index("ix_fits_state_id", "fits", ["state", "id"])
    op.create_index("ix_fits_turn", "fits", ["state", sa.text("priority DESC"), "id"])


def _attempts() -> None:
    op.create_table(
        "attempts",
        sa.Column("fit_id", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("token", sa.Text, nullable=False),
        sa.Column("pid", sa.Integer),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("outcome", sa.Text),
        sa.PrimaryKeyConstraint("fit_id", "number", name="pk_attempts"),
        sa.ForeignKeyConstraint(["fit_id"], ["fits.id"], name="fk_attempts_fit_id", ondelete="CASCADE"),
    )


def _events() -> None:
    op.create_table(
        "events",
        sa.Column("fit_id", sa.Text, nullable=False),
        sa.Column("seq", sa.BigInteger, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("body", sa.Text, nullable=False),
        sa.Column("metric_seq", sa.BigInteger),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("fit_id", "seq", name="pk_events"),
        sa.UniqueConstraint("fit_id", "metric_seq", name="uq_events_fit_id_metric_seq"),
        sa.ForeignKeyConstraint(["fit_id"], ["fits.id"], name="fk_events_fit_id", ondelete="CASCADE"),
        sqlite_with_rowid=False,
    )


def _checkpoints() -> None:
    op.create_table(
        "checkpoints",
        sa.Column("id", sa.Text, nullable=False),
        sa.Column("fit_id", sa.Text),
        sa.Column("graph_id", sa.Text, nullable=False),
        sa.Column("step", sa.BigInteger, nullable=False),
        sa.Column("epoch", sa.BigInteger, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("metrics", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("is_best", sa.Boolean, nullable=False),
        sa.Column("deleted", sa.Boolean, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_checkpoints"),
        sa.ForeignKeyConstraint(["fit_id"], ["fits.id"], name="fk_checkpoints_fit_id", ondelete="CASCADE"),
    )
    op.create_index("ix_checkpoints_digest", "checkpoints", ["digest"])
    op.create_index("ix_checkpoints_fit_id", "checkpoints", ["fit_id"])


def _idempotency_keys() -> None:
    op.create_table(
        "idempotency_keys",
        sa.Column("scope", sa.Text, nullable=False),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("body_digest", sa.Text, nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("response_body", sa.Text, nullable=False),
        sa.Column("resource_id", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("scope", "key", name="pk_idempotency_keys"),
    )
    op.create_index("ix_idempotency_keys_created_at", "idempotency_keys", ["created_at"])
