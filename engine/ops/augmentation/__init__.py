"""Augmentation: random changes of the examples of a batch in training, each drawn from a key."""

from engine.ops.augmentation import affine, boxes, images, mixup, sequences
