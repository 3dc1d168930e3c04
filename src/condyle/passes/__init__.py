"""Passes: Program -> Program, one in each file; `pipeline.py` says which run and in what order."""
