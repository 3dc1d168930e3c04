"""Functions repeated over time."""
