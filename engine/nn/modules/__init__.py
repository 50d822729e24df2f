"""Models as objects on the tape: modules with parameters, and functions of whole models."""
