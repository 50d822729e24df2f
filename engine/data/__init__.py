"""Rows, their order and their batches."""

from engine.data.batches import Batches, Shuffle, read_shuffle
from engine.data.class_encoding import (
    CLASSES,
    ClassEncoding,
    Labels,
    check_labels,
    classes_of_checkpoint,
    encode_texts,
    meta_with_classes,
    read_class_encodings,
    read_classes,
)
from engine.data.findings import DataFinding, find_imbalance, find_row_names
from engine.data.image_encoding import ImageEncoding, images_of_checkpoint, meta_with_images
from engine.data.loader import Batch, DataLoader, Prefetcher, prefetch_depth
from engine.data.normalization import MinMax, Normalization, Robust, Standard, fit_scales, read_normalize
from engine.data.sampling import Sampler, Sampling, class_weights, make_sampler
from engine.data.scaling import Affine, Scales
from engine.data.source import CAST_BYTES, RoundedInput, Source, cast_inputs, open_source, rounded_inputs
from engine.data.splitting import Split, grouped_split, held_out_rows, split_examples, split_rows, stratified_split
from engine.data.windows import Windows

__all__ = [
    "CAST_BYTES",
    "CLASSES",
    "Affine",
    "Batch",
    "Batches",
    "ClassEncoding",
    "DataFinding",
    "DataLoader",
    "ImageEncoding",
    "Labels",
    "MinMax",
    "Normalization",
    "Prefetcher",
    "Robust",
    "RoundedInput",
    "Sampler",
    "Sampling",
    "Scales",
    "Shuffle",
    "Source",
    "Split",
    "Standard",
    "Windows",
    "cast_inputs",
    "check_labels",
    "class_weights",
    "classes_of_checkpoint",
    "encode_texts",
    "find_imbalance",
    "find_row_names",
    "fit_scales",
    "grouped_split",
    "held_out_rows",
    "images_of_checkpoint",
    "make_sampler",
    "meta_with_classes",
    "meta_with_images",
    "open_source",
    "prefetch_depth",
    "read_class_encodings",
    "read_classes",
    "read_normalize",
    "read_shuffle",
    "rounded_inputs",
    "split_examples",
    "split_rows",
    "stratified_split",
]
