"""The words that options take, in one place that imports nothing: to print help is to import this."""

from __future__ import annotations

from collections.abc import Mapping

PAPERS = ("iiwa14", "hyq", "atlas")
"""The bundled robots of the papers' benchmarks."""
BUNDLED = (*PAPERS, "panda", "ur5e", "anymal_kinova", "talos", "allegro")
UNNAMED = "robot"
"""What exported symbols of other robots begin with where no name is said."""
MIMICS = ("exact", "independent")
UNMODELLED = ("refuse", "ignore")
TARGETS = ("cpu", "c", "numpy", "cuda")
DTYPES = ("float64", "float32")
LINKS = ("serial", "scan", "auto")
REFERENCE_FRAMES = ("local", "world", "local_world_aligned")
FORCE_FRAMES = ("local", "local_world_aligned")
INTEGRATORS = ("semi_implicit_euler", "euler", "rk4")
LAYERS = ("bodies", "links", "axes", "frames", "names", "com", "contacts", "ground", "forces")
"""What is drawn of a robot."""
VIEWS = ("iso", "front", "side", "top")
THEMES = ("auto", "light", "dark")
"""Of pictures; auto: light, or dark where the reader's system prefers that."""
OVERFLOWS = ("flag", "silent")
BOUNDARY = ("axi", "float32", "async_clock", "link", "echo")
EXPORTS: Mapping[str, tuple[str, ...]] = {
    "c": ("dtype", "frames", "reference_frame", "integrator", "inputs", "contacts"),
    "cuda": ("frames", "reference_frame", "integrator", "inputs", "contacts"),
    "casadi": ("frames", "reference_frame", "integrator", "contacts"),
    "verilog": (
        "part",
        "word",
        "dsp",
        "clock",
        "f_ext",
        "step",
        "constants",
        "folding",
        "pipeline",
        "root",
        "box",
        "overflow",
        *BOUNDARY,
    ),
}
"""What is exported, each with the options that not every target takes."""
