"""Targets: each turns a Program into something that runs; all have target.py, lower.py, emit.py, build.py and a README.md."""
