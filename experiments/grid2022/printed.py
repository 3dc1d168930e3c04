"""What GRiD (Plancher, Neuman, Ghosal, Kuindersma, Reddi, ICRA 2022) prints, and where."""

from __future__ import annotations

ROBOTS = {"iiwa14": "IIWA", "hyq": "HyQ", "atlas": "Atlas"}
FREEDOMS = {"iiwa14": 7, "hyq": 12, "atlas": 30}
TABLE_I: dict[str, dict[str, tuple[float, float, float]]] = {
    "CPU": {
        "id": (0.3, 0.3, 1.1),
        "minv": (0.5, 0.8, 3.4),
        "fd": (0.9, 1.2, 5.3),
        "did": (1.4, 2.1, 9.8),
        "dfd": (2.9, 4.3, 20.9),
    },
    "GPU": {
        "id": (3.0, 3.2, 8.0),
        "minv": (5.2, 5.6, 17.4),
        "fd": (7.7, 6.9, 22.4),
        "did": (6.3, 5.8, 19.5),
        "dfd": (12.9, 11.0, 42.1),
    },
}
"""Microseconds of one computation, in the order of ROBOTS: Pinocchio's generated code, and GRiD."""
FIGURE_4_CPU_256 = {"iiwa14": 123.0, "hyq": 172.0, "atlas": 865.0}
"""Microseconds of 256 dfd on 8 cores: text of section V-B."""
GPU_OVER_CPU_256 = {"iiwa14": (5.3, 2.5), "hyq": (7.2, 2.1)}
"""Times faster at N = 256, computation alone and with copying: the same place."""
MACHINE = "Intel i7-10700K, 8 cores, 3.8 GHz; NVIDIA RTX 3080, 1.44 GHz"
