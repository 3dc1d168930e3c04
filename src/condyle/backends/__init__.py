"""Targets: each turns a Program into something that runs; what they share is in `common`."""
