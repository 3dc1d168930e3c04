"""Kernels whose lanes are links, or segments of a chain: prefix scans over them, for few states of long robots."""
