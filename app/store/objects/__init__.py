"""Object storage in place of the folder of blobs. All but `marker` is imported only where ADJOINT_BLOB_URL is set."""
