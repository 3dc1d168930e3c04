"""Passes: Program -> Program, one a file; `pipeline.py` says which run and in what order."""
