"""Alembic's entry: runs the migrations on the connection that `app.store.database` hands over.

Alembic runs this file as a script; it is not to be imported.
"""

from alembic import context

from app.store.tables import metadata


def run() -> None:
    """Run what is asked for in one transaction, so that a migration that fails leaves nothing behind."""
    context.configure(
        connection=context.config.attributes["connection"],
        target_metadata=metadata,
        render_as_batch=True,
        transactional_ddl=True,
        compare_type=True,
    )
    with context.begin_transaction():
        context.run_migrations()
        finish = context.config.attributes.get("finish")
        if finish is not None:
            finish(context.get_bind())


run()
