"""Kernels whose lanes are links, or chunks of a chain of links: scans over them, for few states of long robots."""
