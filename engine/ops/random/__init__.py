"""Random draws from explicit keys, and what drops or draws in training."""

from engine.ops.random import draws, dropout, random
