"""Targets: each turns a Program into something that runs, by target.py, lower.py, emit.py and build.py."""
