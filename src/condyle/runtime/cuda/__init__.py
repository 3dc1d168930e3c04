"""NVIDIA GPUs: driver, memory, arrays. Nothing here is imported before target "cuda" is asked for."""
