"""Training: recipes, metrics, steps, fits, sweeps and their estimates."""
