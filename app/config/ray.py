"""The settings of Ray: where fits run that do not run on the server's machine."""

import os
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class RaySettings(BaseSettings):
    """Where fits run. Part of the settings (`app.config.settings`)."""

    model_config = SettingsConfigDict(env_prefix="ADJOINT_", frozen=True, extra="forbid", hide_input_in_errors=True)

    runner: Literal["local", "ray"] = Field(
        default="local",
        description="Where fits run: in processes of this machine (`local`), or on the nodes of a Ray cluster (`ray`).",
    )
    ray_address: str | None = Field(
        default=None, description="Address of the head of the Ray cluster, as `10.0.0.5:6379`; needed with `ray`."
    )
    ray_node_address: str | None = Field(
        default=None,
        description="Address of the Ray node on this machine, as given to `ray start --node-ip-address`; by default "
        "Ray finds it.",
    )
    ray_folder: Path | None = Field(
        default=None,
        description="Folder on every Ray node for copies of stored files, and for checkpoints that are not stored yet; "
        "by default `adjoint-<user id>` in the folder for temporary files.",
    )

    @field_validator("ray_address", mode="after")
    @classmethod
    def _is_host_and_port(cls, value: str | None) -> str | None:
        # Compose files pass an unset variable on as an empty one.
        if not value:
            return None
        host, _, port = value.rpartition(":")
        if not host or not port.isdecimal() or "/" in host:
            raise ValueError("ADJOINT_RAY_ADDRESS must be the host and port of the head, as 10.0.0.5:6379")
        return value

    @model_validator(mode="after")
    def _ray_has_an_address(self) -> Self:
        if self.runner == "ray" and self.ray_address is None:
            raise ValueError("ADJOINT_RUNNER is ray: set ADJOINT_RAY_ADDRESS to its head, as 10.0.0.5:6379")
        return self


def has_ray_token() -> bool:
    """Whether the environment requires a token from every client of the Ray cluster, and names one."""
    if os.environ.get("RAY_AUTH_MODE") != "token":
        return False
    path = os.environ.get("RAY_AUTH_TOKEN_PATH") or Path.home() / ".ray" / "auth_token"
    return bool(os.environ.get("RAY_AUTH_TOKEN")) or Path(path).is_file()
