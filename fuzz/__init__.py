"""Fuzzers: invalid and damaged input for all public interfaces. `python -m fuzz --help` says how to run them."""
