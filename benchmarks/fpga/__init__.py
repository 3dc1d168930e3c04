"""The FPGA target measured: cycles, units, errors, tables and registers, long simulations, seconds."""
