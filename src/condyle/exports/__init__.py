"""A robot's functions as a project in C, CUDA C++, C for CasADi, or Verilog.

`exporting` (`condyle.export`), `projects` (what every target is given), `known_answers` (states with answers, for the
exported tests), `externals` (functions with CasADi's interface), `targets` (one file each).
"""
