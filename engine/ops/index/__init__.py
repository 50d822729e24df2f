"""Reading and writing elements by indices, masks and tables."""

from engine.ops.index import advanced_index, embedding, index, scatter, search
