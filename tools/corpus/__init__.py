"""Tries the model files of other projects: does each load, and do all functions agree with another engine?

python -m tools.corpus DIR... [--jobs N] [--json FILE] [--results FILE] [--only TEXT] [--assets DIR] [--cpu-most NV]
"""
