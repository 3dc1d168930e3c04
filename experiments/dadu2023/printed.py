"""What Dadu-RBD (Yang, Chen, Han, MICRO 2023) prints of its functions, and where."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Range:
    """Ratios over the functions and robots of a figure."""

    least: float
    most: float
    mean: float | None = None

    def __str__(self) -> str:
        return f"{self.least:g} to {self.most:g}" + ("" if self.mean is None else f", mean {self.mean:g}")


THROUGHPUT = {
    "AGX Orin CPU": Range(8.1, 43.6, 19.2),
    "AGX Orin GPU": Range(3.5, 13.4, 7.2),
    "i9-13900HX": Range(4.1, 20.2, 8.2),
    "RTX 4090M": Range(0.5, 2.8, 1.4),
}
"""Times higher: text beside figure 15."""
LATENCY = {"AGX Orin CPU": Range(0.12, 0.55, 0.29), "i9-13900HX": Range(0.34, 1.91, 0.82)}
"""Of the processor's time, lower is better: the same place."""
FIGURE_16 = {"CPU": Range(10.3, 13.0), "GPU": Range(3.4, 11.3), "FPGA": Range(6.3, 7.0)}
"""Times faster than Plancher 2021 at batches of difd: text beside figure 16."""
DIFD_US = 0.76
"""Latency of difd of iiwa: section VI-A."""
GPU_WINS_ABOVE = 512
"""States from which on the RTX 4090M has the higher throughput of dfd: text beside figure 17."""
RESOURCES = {"dsp": 0.62, "lut": 0.54, "ff": 0.17}
"""Shares of the device: section VI-C."""
DEVICE = {"dsp": 6840, "lut": 1182240, "ff": 2364480}
"""What an XCVU9P has: AMD's data sheet DS890."""
POWER_W = (6.2, 36.8)
RATE_GAIN = 1.8
"""Of the control rate, end to end, against 4 threads of a processor: section VI-B."""
DYNAMICS_SHARE_CPU = "30 to 90 %"
"""Of a period of model-predictive control on processors, as the introductions of the papers say."""
