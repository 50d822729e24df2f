"""The history of the schema, one revision a file in `versions`, run by Alembic."""

# The newest revision, repeated here so that opening an up-to-date database need not import Alembic.
HEAD = "0022"
