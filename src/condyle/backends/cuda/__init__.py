"""The GPU target: PTX written by us, one thread or a group of lanes a state, made machine code without a toolkit."""
