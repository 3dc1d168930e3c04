"""What Plancher, Neuman, Bourgeat, Kuindersma, Devadas, Reddi (RA-L 2021) print of figures 1 to 3, and where."""

from __future__ import annotations

FIGURE_1 = {
    "CPU over Pinocchio": 1.5,
    "GPU over an older GPU code": 6.4,
    "FPGA over CPU": 5.6,
    "FPGA over GPU": 13.8,
}
"""Ratios of one computation: text beside figure 1. Heights of bars are not printed."""
FIGURE_2 = {16: 1.9, 128: 2.8}
"""Completely fused over split on the GPU, by N."""
FIGURE_3 = {"GPU over CPU": {16: 1.2, 128: 3.0}, "FPGA over CPU": {16: 1.9, 128: 1.6}}
FPGA_US = 0.61
"""One computation on the FPGA: printed by Dadu-RBD (section VI-A), not by this paper."""
MACHINE = "Intel i7-7700, 4 cores, 3.6 GHz, turbo off; NVIDIA RTX 2080, 1.7 GHz; VCU118 at 55.6 MHz over PCIe Gen1"
