"""How a state is moved by a step of time: methods as data, the same for every target.

k_i = fd(q_i, v_i), (q_1, v_1) = (q, v), and ⊕ moves q by a vector of its tangent space. Methods of first order step the
velocity in axes that stand still. With l the entries of v that are velocities along axes which turn with a joint
(linear entries of free and planar joints), w the others, and [w, l] the bracket, which is w x l of a free joint:

    v~ = v + h (k_1 + [w, l]),  q' = q ⊕ h l* ⊕ h w*,  v' = exp(-ad h w*) l~ + w~,

where * is v~, or v for Euler's method. So v' = v + h k_1 and q' = q ⊕ h v* where no axes turn. The other methods:

    v_(i+1) = v + c_i h k_i,  q_(i+1) = q ⊕ u_i,  u_i = c_i h v_i + d_i h² [v, v_i] + e_i sum over j < i of b_j h v_j
    v' = v + h sum b_i k_i,   q' = q ⊕ u of the last stage

Munthe-Kaas 1998 for joints that turn; the bracket has the sign of q ⊕ u = q exp(u), and is zero where q is a plain
vector. Torques and external forces are held over the step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from pkgutil import iter_modules
from typing import NamedTuple


class Stage(NamedTuple):
    """One evaluation of forward dynamics, and its weights."""

    c: float
    b: float
    d: float = 0.0
    e: float = 0.0


@dataclass(frozen=True)
class Method:
    """about: its name in the literature. Stages in order. moves_last: * is v~, the velocity at the end of the step."""

    about: str
    stages: tuple[Stage, ...]
    order: int
    moves_last: bool = False


METHODS: Mapping[str, Method] = {
    "semi_implicit_euler": Method("the semi-implicit Euler method", (Stage(1.0, 1.0),), 1, moves_last=True),
    "rk4": Method(
        "the classical Runge-Kutta method",
        (Stage(1 / 2, 1 / 6), Stage(1 / 2, 1 / 3, 1 / 8), Stage(1.0, 1 / 3), Stage(1 / 6, 1 / 6, 1 / 12, 1.0)),
        4,
    ),
    "euler": Method("Euler's method", (Stage(1.0, 1.0),), 1),
}
"""By the words of `compile(integrator=)`, the default first."""


# The words that options take, in one place that imports next to nothing: to print help is to import this.


PAPERS = ("iiwa14", "hyq", "atlas")
"""The bundled robots of the papers' benchmarks."""
BUNDLED = (*PAPERS, "panda", "ur5e", "anymal_kinova", "talos", "allegro", "go2", "g1")
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
JOINT_FORCES = ("damping", "friction", "springs", "limits")
"""What `compile(joint_forces=)` takes; "all" is every one that the robot has."""
POSITIONS = "positions"
"""What `compile(implicit=)` takes beside True and False."""
REGRESSOR = ("damping", "friction", "armature", "stiffness")
"""What `compile(regressor=)` takes, in the order of the columns."""
LAYERS = ("bodies", "links", "axes", "limits", "frames", "names", "com", "contacts", "ground", "forces")
"""What is drawn of a robot."""
USUAL = tuple(layer for layer in LAYERS if layer != "limits")
"""What is drawn unless something else is asked for: ranges of all joints cover much of a robot."""
VIEWS = ("iso", "front", "side", "top")
THEMES = ("auto", "light", "dark")
"""Of pictures; auto: light, or dark where the reader's system prefers that."""
OVERFLOWS = ("flag", "silent")
BOUNDARY = ("axi", "float32", "async_clock", "link", "echo", "bus_clock")
