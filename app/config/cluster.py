"""The settings of a server that is one of several on one database."""

from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

SECRET_CHARACTERS_MIN = 16


class ClusterSettings(BaseSettings):
    """How servers of one database find each other. Part of the settings (`app.config.settings`)."""

    model_config = SettingsConfigDict(env_prefix="ADJOINT_", frozen=True, extra="forbid", hide_input_in_errors=True)

    cluster_secret: SecretStr | None = Field(
        default=None,
        description="Secret of at least 16 characters that all servers of one PostgreSQL database share. With it, "
        "several servers use the database; without it, one.",
    )
    internal_url: str | None = Field(
        default=None,
        description="URL at which the other servers of the database reach this one, as `http://10.0.0.5:8000`; by "
        "default the address that it binds. Clients need not reach it.",
    )
    sessions_in_data_dir: bool = Field(
        default=False,
        description="Several servers with object storage: all of them use one data directory, and sessions are kept "
        "in it alone. By default they are kept in the database and the object storage, so that servers need no common "
        "folder; then each step waits for the database. The same for all servers.",
    )

    @field_validator("cluster_secret", mode="after")
    @classmethod
    def _is_long_enough(cls, value: SecretStr | None) -> SecretStr | None:
        # Compose files pass an unset variable on as an empty one.
        if value is None or not value.get_secret_value():
            return None
        secret = value.get_secret_value()
        if len(secret) < SECRET_CHARACTERS_MIN or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ValueError(
                f"ADJOINT_CLUSTER_SECRET must be printable ASCII without spaces, of at least {SECRET_CHARACTERS_MIN} "
                "characters; take a random one, as `openssl rand -hex 32` prints"
            )
        return value

    @field_validator("internal_url", mode="after")
    @classmethod
    def _is_an_origin(cls, value: str | None) -> str | None:
        if not value:
            return None
        try:
            parts = urlsplit(value)
            usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        except ValueError:
            usable = False
        if not usable or parts.path not in ("", "/") or parts.query or parts.fragment or "@" in parts.netloc:
            raise ValueError("ADJOINT_INTERNAL_URL must be a scheme, a host and a port, as http://10.0.0.5:8000")
        return value.rstrip("/")
