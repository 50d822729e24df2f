"""The settings of the database: all that a command needs which opens it without being a server."""

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

SCHEMES = ("postgresql+psycopg://", "postgresql://")


class DatabaseSettings(BaseSettings):
    """Where the database is. Part of the settings (`app.config.settings`)."""

    model_config = SettingsConfigDict(env_prefix="ADJOINT_", frozen=True, extra="forbid", hide_input_in_errors=True)

    database_url: SecretStr | None = Field(
        default=None,
        description="PostgreSQL database to use, as `postgresql+psycopg://user:password@host:5432/database`; "
        "by default an SQLite file in the data directory.",
    )
    database_connections: int = Field(
        default=20, ge=2, le=1000, description="Maximum connections to PostgreSQL, besides one for notifications."
    )
    database_migrate: bool = Field(
        default=True,
        description="Bring the schema in PostgreSQL up to date at start; `false` refuses to start with an old one.",
    )

    @field_validator("database_url", mode="after")
    @classmethod
    def _is_of_postgresql(cls, value: SecretStr | None) -> SecretStr | None:
        # Compose files pass an unset variable on as an empty one.
        if value is None or not value.get_secret_value():
            return None
        if not value.get_secret_value().startswith(SCHEMES):
            raise ValueError(
                "ADJOINT_DATABASE_URL must begin with postgresql+psycopg://; leave it out to use an SQLite file in the "
                "data directory"
            )
        return value
