"""A closed four-bar over a long time: how far it opens."""

from __future__ import annotations

from typing import Any

import numpy as np

import condyle
from benchmarks.steps_common import DT, Array
from condyle import Contact, Dynamics
from condyle.model.placement import Placement

LENGTHS, BASE = {"crank": 0.3, "coupler": 0.8, "rocker": 0.6}, 0.7
GAINS = (2500.0, 100.0)
RATE = 2.0


def linkage(gains: tuple[float, float], integrator: str) -> Dynamics:
    """Three bars of 1 kg a metre that turn about -y, crank and rocker on the world; coupler and rocker are closed."""
    builder = condyle.Builder("four_bar")
    places = {"crank": ("world", 0.0), "coupler": ("crank", LENGTHS["crank"]), "rocker": ("world", BASE)}
    for name, (parent, at) in places.items():
        length = LENGTHS[name]
        inertia = np.diag([1e-4, length**3 / 12.0, length**3 / 12.0])
        builder.body(name, mass=length, com=(0.5 * length, 0.0, 0.0), inertia=inertia)
        builder.joint(name, parent=parent, child=name, type="revolute", axis=(0.0, -1.0, 0.0), xyz=(at, 0.0, 0.0))
    ends = {name: Placement.from_rpy((LENGTHS[name], 0.0, 0.0)) for name in ("coupler", "rocker")}
    contact = Contact("coupler", "point", "rocker", placement=ends["coupler"], gains=gains, anchor=ends["rocker"])
    return builder.build().compile(threads=1, contacts=[contact], integrator=integrator)


def closed(dyn: Dynamics) -> tuple[Array, Array]:
    """q where it is closed, by Newton's method from nearby, and v with RATE at the crank."""
    q = np.array([0.3, 0.3, 1.5])
    for _ in range(20):
        q[1:] -= np.linalg.lstsq(dyn.constraint_jacobian(q)[:, 1:], dyn.constraint_errors(q), rcond=1e-12)[0]
    J = dyn.constraint_jacobian(q)
    return q, RATE * np.r_[1.0, np.linalg.lstsq(J[:, 1:], -J[:, 0], rcond=1e-12)[0]]


def closure(steps: int) -> dict[str, Any]:
    """The largest distance of the two ends over all steps, with gains and without, by integrator."""
    found: dict[str, Any] = {"steps": steps, "dt": DT, "gains": list(GAINS)}
    for integrator in ("semi_implicit_euler", "rk4"):
        apart = found[integrator] = {}
        for word, gains in (("with gains", GAINS), ("without", (0.0, 0.0))):
            dyn = linkage(gains, integrator)
            path: Any = dyn.rollout(*closed(dyn), np.zeros((steps, 3)), DT)
            apart[word] = float(np.linalg.norm(dyn.constraint_errors(path.q), axis=-1).max())
    return found
