"""The tracer: algorithms run on symbols and become Programs, segments or loops. Only this package imports both the
algorithms and the IR."""
