"""Holds this tree against an earlier commit on the same machine: see `python -m tools.guard --help`."""
