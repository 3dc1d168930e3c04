"""Steps of time."""
