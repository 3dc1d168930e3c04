"""The processor target: machine code written by us, one SIMD lane a state, without a compiler on the user's machine."""
