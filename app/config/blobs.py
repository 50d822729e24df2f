"""The settings of stored files: all that a command needs which opens them without being a server."""

import os
from pathlib import Path
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from app.config.bounds import GIB, MIB

BLOB_SCHEMES = ("s3", "gs", "az", "file")

_S3_CREDENTIALS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_WEB_IDENTITY_TOKEN_FILE",
    "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
    "AWS_CONTAINER_CREDENTIALS_FULL_URI",
)


class BlobSettings(BaseSettings):
    """Where stored files are. Part of the settings (`app.config.settings`)."""

    model_config = SettingsConfigDict(env_prefix="ADJOINT_", frozen=True, extra="forbid", hide_input_in_errors=True)

    blob_url: SecretStr | None = Field(
        default=None,
        description="Object storage for datasets and checkpoints, as `s3://bucket/prefix?endpoint=https://host`, "
        "`gs://`, `az://` or `file://`; by default a folder in the data directory.",
    )
    blob_cache_dir: Path | None = Field(
        default=None,
        description="Folder of the copies of stored files that object storage is read through; by default `cache` in "
        "the data directory. Fastest on the file system of the data directory.",
    )
    blob_cache_bytes: int = Field(
        default=10 * GIB,
        ge=MIB,
        description="Maximum size of these copies, in bytes; what running fits and open sessions use is kept beyond.",
    )
    blob_redirect_seconds: int | None = Field(
        default=None,
        ge=1,
        le=604_800,
        description="Answer downloads of datasets and checkpoints with a redirect to a pre-signed URL of the object "
        "storage, valid for this number of seconds; by default the server sends them itself.",
    )

    @field_validator("blob_url", mode="after")
    @classmethod
    def _is_of_object_storage(cls, value: SecretStr | None) -> SecretStr | None:
        # Compose files pass an unset variable on as an empty one.
        if value is None or not value.get_secret_value():
            return None
        try:
            parts = urlsplit(value.get_secret_value())
        except ValueError:
            raise ValueError("ADJOINT_BLOB_URL is no URL; write it as s3://bucket/prefix") from None
        if parts.scheme not in BLOB_SCHEMES:
            raise ValueError(
                "ADJOINT_BLOB_URL must begin with s3://, gs://, az:// or file://; leave it out to keep files in the "
                "data directory"
            )
        if "@" in parts.netloc:
            raise ValueError(
                "ADJOINT_BLOB_URL must not hold credentials; set those of the provider's own variables, as "
                "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"
            )
        return value


def has_s3_credentials() -> bool:
    """Whether the environment says how to sign requests to S3; without, only the metadata service of a machine can."""
    return any(os.environ.get(name) for name in _S3_CREDENTIALS)
