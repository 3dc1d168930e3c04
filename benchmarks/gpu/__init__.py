"""The run on a GPU: see `python -m benchmarks.gpu --help`."""
