"""Targets of `Robot.compile` that have a file of their own: `build` of a file of this folder makes its kernels.

build(code, facts, dtype) gets the code of one function and returns its Kernel; UnsupportedError for code that the
target has no form for. The name of the file is the word that people type.
"""
