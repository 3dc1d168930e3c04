"""The GPU target: PTX with a thread or a group of lanes for each state, assembled without a CUDA toolkit."""
