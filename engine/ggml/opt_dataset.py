"""OptDataset: datapoints and labels in memory, visited through a permutation of shards (ggml_opt_dataset)."""

from __future__ import annotations

from typing import Any

import numpy as np

from engine.core.dtypes import FLOAT32, dtype_of
from engine.core.errors import DataError
from engine.core.value import Array, Value, tensor


class OptDataset:
    """Datapoints along the first axis of `data`, their labels along the first axis of `labels` (or None).

    A shard is the group of neighbouring datapoints that a shuffle keeps together. What is left over by whole shards
    belongs to no batch. Arrays are used in place: they may be written to between batches, or be memory-mapped.
    """

    def __init__(self, data: Any, labels: Any = None, *, ndata_shard: int = 1) -> None:
        """Take arrays, Values with data, or nested lists (whose floats become float32).

        Raises:
            DataError: no datapoints, as many labels as there are not datapoints, or a shard larger than all.
        """
        self.data = _array("data", data)
        self.labels = None if labels is None else _array("labels", labels)
        self.ndata_shard = ndata_shard
        if self.labels is not None and len(self.labels) != self.ndata:
            raise DataError(f"there are {self.ndata} datapoints and {len(self.labels)} labels; give one label for each")
        if not 1 <= ndata_shard <= self.ndata:
            raise DataError(f"ndata_shard {ndata_shard} must be in 1..{self.ndata}, the number of datapoints")
        self.permutation = np.arange(self.ndata // ndata_shard)

    @classmethod
    def zeros(
        cls,
        ne_datapoint: int,
        ne_label: int,
        ndata: int,
        ndata_shard: int = 1,
        *,
        type_data: object = FLOAT32,
        type_label: object = FLOAT32,
    ) -> OptDataset:
        """Allocate `data` [ndata, ne_datapoint] and `labels` [ndata, ne_label], to be filled (ggml_opt_dataset_init).

        Without elements in a label (`ne_label` 0) there are no labels.
        """
        for name, extent, least in (("ne_datapoint", ne_datapoint, 1), ("ne_label", ne_label, 0), ("ndata", ndata, 1)):
            if extent < least:
                raise DataError(f"{name} {extent} must be at least {least}")
        labels = np.zeros((ndata, ne_label), dtype_of(type_label)) if ne_label else None
        return cls(np.zeros((ndata, ne_datapoint), dtype_of(type_data)), labels, ndata_shard=ndata_shard)

    @property
    def ndata(self) -> int:
        """Number of datapoints (ggml_opt_dataset_ndata)."""
        return len(self.data)

    def shuffle(self, generator: np.random.Generator, idata: int = -1) -> None:
        """Permute the shards at random (ggml_opt_dataset_shuffle): all, or those of the first `idata` datapoints.

        `idata` counts positions in the order that is in force, not in `data`. Equal generators give equal orders.

        Raises:
            DataError: `idata` cuts a shard, or lies beyond the datapoints.
        """
        if idata < 0:
            generator.shuffle(self.permutation)
            return
        shards, rest = divmod(idata, self.ndata_shard)
        if rest or shards > len(self.permutation):
            raise DataError(
                f"cannot shuffle the first {idata} of {self.ndata} datapoints: it must be a multiple of the shard size "
                f"{self.ndata_shard} and no more than there are"
            )
        generator.shuffle(self.permutation[:shards])

    def get_batch(self, ibatch: int, nbatch: int) -> tuple[Array, Array | None]:
        """Return copies of the datapoints and labels of batch `ibatch` (from 0) in batches of `nbatch`.

        This is ggml_opt_dataset_get_batch, and ggml_opt_dataset_get_batch_host.

        Raises:
            DataError: `nbatch` cuts a shard, or there is no such batch.
        """
        shards, rest = divmod(nbatch, self.ndata_shard)
        if rest or shards < 1:
            raise DataError(f"batches of {nbatch} cut shards of {self.ndata_shard}: take a multiple of the shard size")
        picked = self.permutation[ibatch * shards : (ibatch + 1) * shards] if ibatch >= 0 else self.permutation[:0]
        if len(picked) < shards:
            last = len(self.permutation) // shards - 1
            raise DataError(f"there is no batch {ibatch}: {self.ndata} datapoints make batches 0..{last} of {nbatch}")
        rows = (picked[:, None] * self.ndata_shard + np.arange(self.ndata_shard)).reshape(-1)
        return self.data[rows], None if self.labels is None else self.labels[rows]


def _array(name: str, given: Any) -> Array:
    if isinstance(given, Value):
        given = given.numpy()
    array: Array = given if isinstance(given, np.ndarray) else tensor(given).numpy()
    dtype_of(array.dtype)
    if not array.ndim or not len(array):
        raise DataError(f"{name} of shape {list(array.shape)} hold nothing; give at least one datapoint")
    return array
