"""Functions in terms of other operations, once for all targets: range reduction, polynomial, special values."""
