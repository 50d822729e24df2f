"""Random draws from explicit keys, and ops that are random in training."""

from engine.ops.random import draws, dropout, random
