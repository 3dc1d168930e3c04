"""The C target: portable C99 that the system compiler builds at first use, or that a project takes away."""
