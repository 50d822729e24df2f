"""Preprocessing of table columns: what a model does to raw columns before its graph, with its fitted statistics."""

from engine.data.table.facts import ColumnFacts
from engine.data.table.preprocessing import (
    Preprocessing,
    fit_preprocessing,
    meta_with_preprocessing,
    preprocessing_of_checkpoint,
)
from engine.data.table.raw import RawColumn, TextColumn, raw_values
from engine.data.table.section import InputColumns, Section, read_section, transform_catalogue

__all__ = [
    "ColumnFacts",
    "InputColumns",
    "Preprocessing",
    "RawColumn",
    "Section",
    "TextColumn",
    "fit_preprocessing",
    "meta_with_preprocessing",
    "preprocessing_of_checkpoint",
    "raw_values",
    "read_section",
    "transform_catalogue",
]
