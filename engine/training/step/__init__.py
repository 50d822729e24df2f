"""Training steps and evaluations of a model as plans."""
