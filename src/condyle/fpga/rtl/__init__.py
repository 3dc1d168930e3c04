"""The fpga target: fixed-point pipelines in Verilog, one accelerator a robot."""
