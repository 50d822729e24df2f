"""Room for what a tenant stores."""

from app.domain.errors import StorageFull
from app.domain.tenancy import current_tenant
from app.store.unit_of_work import Store


class TenantQuota:
    """How many bytes of datasets, checkpoints and captured gradients each tenant may have."""

    def __init__(self, store: Store, bytes_max: int | None) -> None:
        """Count what `store` knows of; None sets no limit."""
        self._store = store
        self._bytes_max = bytes_max

    def check(self, more: int = 1) -> None:
        """StorageFull if the tenant who asks may not store so many bytes more. What the server does is not bounded."""
        tenant = current_tenant()
        if tenant is None or self._bytes_max is None:
            return
        with self._store.begin() as work:
            used = work.blob_references.bytes_of(tenant)
        if used + more > self._bytes_max:
            raise StorageFull(
                f"{used} of the {self._bytes_max} bytes that a tenant may store are in use, {more} more do not fit; "
                "delete datasets, fits or checkpoints, or have ADJOINT_TENANT_STORAGE_BYTES raised",
                code="quota_exceeded",
            )
