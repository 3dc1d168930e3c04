"""The GPU target: PTX written by us, one thread a state, made machine code without a toolkit."""
