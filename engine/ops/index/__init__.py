"""Reading and writing elements by indices, masks and tables."""

from engine.ops.index import advanced_index, embedding, index, nonzero, scatter, search, slice_scatter

FAMILIES = (advanced_index, embedding, index, nonzero, scatter, search, slice_scatter)
