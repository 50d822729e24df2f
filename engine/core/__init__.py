"""What every other package builds on: errors, dtypes, values, the op registry, options, random keys."""
