"""Operations that no target has, expanded into others for all targets: range reduction, polynomial, special values.

A file with the name of an operation has its expansion, a function of that name.
"""
