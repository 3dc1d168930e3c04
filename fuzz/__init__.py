"""Fuzzers: hostile input for every door of the package. `python -m fuzz --help` says how to run them."""
