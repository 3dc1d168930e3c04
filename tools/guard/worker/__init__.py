"""The process that one commit answers from. It imports `condyle` as a user would, and nothing else of this repository.

`python -m tools.guard.worker` reads one question a line and answers one line each, both JSON. It has to work with the
Condyle of earlier commits: it uses the public API only (see `gpu.py` for the one place that goes around it).
"""
