"""exp, log, tanh and atan2 expanded into other operations, for all targets: range reduction, polynomial, special
values.
"""
