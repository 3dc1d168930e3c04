"""The words that options take, in one place that imports next to nothing: to print help is to import this."""

from __future__ import annotations

from pathlib import Path
from pkgutil import iter_modules

from condyle.specification.integrators import METHODS

PAPERS = ("iiwa14", "hyq", "atlas")
"""The bundled robots of the papers' benchmarks."""
BUNDLED = (*PAPERS, "panda", "ur5e", "anymal_kinova", "talos", "allegro")
UNNAMED = "robot"
"""What exported symbols of other robots begin with where no name is said."""
MIMICS = ("exact", "independent")
UNMODELLED = ("refuse", "ignore")
ADDED = tuple(found.name for found in iter_modules([str(Path(__file__).parents[1] / "backends" / "added")]))
"""Targets that are files of `backends/added`."""
TARGETS = ("cpu", "c", "numpy", "cuda", *ADDED)
DTYPES = ("float64", "float32")
LINKS = ("serial", "scan", "auto")
REFERENCE_FRAMES = ("local", "world", "local_world_aligned")
FORCE_FRAMES = ("local", "local_world_aligned")
INTEGRATORS = tuple(METHODS)
LAYERS = ("bodies", "links", "axes", "frames", "names", "com", "contacts", "ground", "forces")
"""What is drawn of a robot."""
VIEWS = ("iso", "front", "side", "top")
THEMES = ("auto", "light", "dark")
"""Of pictures; auto: light, or dark where the reader's system prefers that."""
OVERFLOWS = ("flag", "silent")
BOUNDARY = ("axi", "float32", "async_clock", "link", "echo", "bus_clock")
