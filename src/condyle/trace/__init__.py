"""The tracer: algorithms run on symbols and become Programs, segments or joint loops. It imports the algorithms and
the IR; so do `links.trace`, for what is parallel in the links, and `fpga`, for pipelines."""
