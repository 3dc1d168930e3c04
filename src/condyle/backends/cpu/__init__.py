"""The processor target: machine code with a state in each SIMD lane, without a compiler on the user's machine."""
