"""A way to compute a function with all links side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class ParallelRoute:
    """One way to compute a function with all links side by side; `condyle.links.routes` has them all.

    run: the answers, of phases (`phases.Phases`). segments: the same with a chain's segments side by side
    (`segments.Segments`), if there is such a form. elements: it needs every link to have inertia
    along its own joint. in_lanes: GPUs have it, a link a lane. free_rotors: GPUs have it for robots whose free joint
    has armature.
    """

    run: Callable[..., object]
    segments: Callable[..., None] | None = None
    elements: bool = False
    in_lanes: bool = True
    free_rotors: bool = True
