"""Which object storage a URL names, and how it is opened."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote, urlsplit

from app.config.blobs import has_s3_credentials
from app.domain.errors import BlobStorageUnusable

if TYPE_CHECKING:
    from obstore.store import ObjectStore

CONNECT_SECONDS = 3
PART_SECONDS = 60
"""The longest that a request takes that carries a part of a file (`app.store.objects.client`)."""

REQUEST_SECONDS = 10
"""The longest that any other request takes."""

_PARAMETERS: Mapping[str, Mapping[str, str]] = MappingProxyType(
    {
        "s3": {"endpoint": "endpoint", "region": "region", "style": "virtual_hosted_style_request"},
        "gs": {"endpoint": "base_url"},
        "az": {"account": "account_name", "endpoint": "endpoint"},
        "file": {},
    }
)
"""The parameters of each scheme, and what obstore calls them."""

_CREDENTIALS: Mapping[str, str] = MappingProxyType(
    {
        "s3": "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        "gs": "GOOGLE_SERVICE_ACCOUNT (the JSON file of a service account)",
        "az": "AZURE_STORAGE_ACCOUNT_KEY (in base64)",
    }
)
"""The variables that set the credentials of each scheme."""

_STYLES = {"path": False, "virtual": True}


@dataclass(frozen=True, slots=True)
class ObjectAddress:
    """A place in object storage: the bucket (of `file`: nothing), a folder in it, and how to reach it."""

    scheme: str
    bucket: str
    prefix: str
    parameters: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What messages call it: no secret."""
        return f"{self.scheme}://{self.bucket}/{self.prefix}".rstrip("/")

    @property
    def credentials(self) -> str:
        """The variables that set its credentials, empty if it takes none."""
        return _CREDENTIALS.get(self.scheme, "")

    def open(self, seconds: int) -> "ObjectStore":
        """Return the store, which has asked for nothing yet; BlobStorageUnusable if it cannot be set up.

        Each of its requests takes at most `seconds`.
        """
        stores = _stores()
        try:
            return stores[self.scheme](self, seconds)
        except BlobStorageUnusable:
            raise
        except Exception:  # noqa: BLE001 (obstore has one class for each fault, and its texts may hold keys)
            variables = f" and {self.credentials}" if self.credentials else ""
            raise BlobStorageUnusable(f"{self.name} cannot be set up; correct ADJOINT_BLOB_URL{variables}") from None


def read_address(url: str) -> ObjectAddress:
    """Return the address that a URL names; BlobStorageUnusable if there is something wrong with it."""
    parts = urlsplit(url)
    known = _PARAMETERS[parts.scheme]
    given = parse_qsl(parts.query, keep_blank_values=True)
    parameters: dict[str, Any] = {}
    for name, value in given:
        if name not in known:
            allowed = f"it takes {', '.join(known)}" if known else f"{parts.scheme}:// takes none"
            raise BlobStorageUnusable(f"ADJOINT_BLOB_URL has the parameter {name[:64]!r}; {allowed}")
        if name == "style" and value not in _STYLES:
            raise BlobStorageUnusable(f"style of ADJOINT_BLOB_URL is {value[:64]!r}; it is path or virtual")
        parameters[known[name]] = _STYLES[value] if name == "style" else value
    prefix = unquote(parts.path).strip("/")
    if any(part in ("", ".", "..") for part in prefix.split("/")) and prefix:
        raise BlobStorageUnusable(
            "the path in ADJOINT_BLOB_URL has an empty part, or `.` or `..`; name the folder itself"
        )
    if parts.scheme == "file":
        if parts.netloc or not prefix:
            raise BlobStorageUnusable("ADJOINT_BLOB_URL names no folder; write it as file:///path/of/the/folder")
    elif not parts.netloc:
        raise BlobStorageUnusable(f"ADJOINT_BLOB_URL names no bucket; write it as {parts.scheme}://bucket/prefix")
    return ObjectAddress(parts.scheme, parts.netloc, prefix, MappingProxyType(parameters))


def _stores() -> "dict[str, Callable[[ObjectAddress, int], ObjectStore]]":
    try:
        import obstore  # noqa: F401
    except ImportError as error:
        raise BlobStorageUnusable(
            "ADJOINT_BLOB_URL needs the extra `objects`: pip install 'adjoint-server[objects]'"
        ) from error
    return {"s3": _s3, "gs": _gcs, "az": _azure, "file": _folder}


def _transport(parameters: Mapping[str, Any], seconds: int) -> dict[str, Any]:
    plain = str(parameters.get("endpoint") or parameters.get("base_url", "")).startswith("http://")
    return {
        "client_options": {
            "allow_http": plain,
            "connect_timeout": timedelta(seconds=CONNECT_SECONDS),
            "timeout": timedelta(seconds=seconds),
        },
        # Few: what fails after them is tried again from above, where a fit waits or a client is answered 503.
        "retry_config": {
            "max_retries": 2,
            "retry_timeout": timedelta(seconds=10),
            "backoff": {"init_backoff": timedelta(milliseconds=100), "max_backoff": timedelta(seconds=1), "base": 2},
        },
    }


def _s3(address: ObjectAddress, seconds: int) -> "ObjectStore":
    from obstore.store import S3Store

    parameters = dict(address.parameters)
    if "endpoint" in parameters and not has_s3_credentials():
        raise BlobStorageUnusable(f"there are no credentials for {address.name}; set {address.credentials}")
    if "endpoint" in parameters:
        parameters.setdefault("region", "us-east-1")
    return S3Store(address.bucket, prefix=address.prefix or None, **parameters, **_transport(parameters, seconds))


def _gcs(address: ObjectAddress, seconds: int) -> "ObjectStore":
    from obstore.store import GCSStore

    parameters = dict(address.parameters)
    return GCSStore(address.bucket, prefix=address.prefix or None, **parameters, **_transport(parameters, seconds))


def _azure(address: ObjectAddress, seconds: int) -> "ObjectStore":
    from obstore.store import AzureStore

    parameters = dict(address.parameters)
    if "account_name" not in parameters and not os.environ.get("AZURE_STORAGE_ACCOUNT_NAME"):
        raise BlobStorageUnusable(
            f"ADJOINT_BLOB_URL names no storage account; write it as az://{address.bucket}/prefix?account=name"
        )
    return AzureStore(address.bucket, prefix=address.prefix or None, **parameters, **_transport(parameters, seconds))


def _folder(address: ObjectAddress, _seconds: int) -> "ObjectStore":
    from obstore.store import LocalStore

    folder = Path("/") / address.prefix
    if not folder.is_dir():
        raise BlobStorageUnusable(f"there is no folder {folder}; make it, or name another one in ADJOINT_BLOB_URL")
    return LocalStore(folder, automatic_cleanup=False)
