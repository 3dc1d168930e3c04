"""Loops: a four-bar built in code and a leg with rods from an MJCF file swing for ten seconds and stay closed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

import condyle
from condyle.model.placement import Placement

H, STEPS = 1e-3, 10_000
GAINS = (100.0, 20.0)  # kp [1/s^2], kd [1/s]: what opens by rounding closes in a tenth of a second


def swing(robot: condyle.Robot, q: np.ndarray) -> None:
    """Lets go at q and says how far loops opened and how well energy was kept; nothing damps the motion."""
    held = [replace(one, gains=GAINS) for one in robot.contacts]
    dyn = robot.compile(contacts=held, integrator="rk4")
    path = dyn.rollout(q, np.zeros(robot.nv), np.zeros((STEPS, robot.nv)), H, every=10)
    open_by = np.linalg.norm(dyn.constraint_errors(path.q).reshape(-1, len(held), 3), axis=-1).max()
    kinetic = dyn.kinetic_energy(path.q, path.v)
    energy = kinetic + dyn.potential_energy(path.q) - dyn.potential_energy(q)
    print(f"{robot.name}: {robot.nv} joints, {freedoms(dyn, q)} freedoms, up to {np.abs(path.v).max():.0f} rad/s")
    print(f"  open by at most {open_by:.0e} m; energy off by {np.abs(energy).max():.0e} of {kinetic.max():.1f} J")
    assert open_by < 1e-8 and np.abs(energy).max() < 1e-6 * kinetic.max()


def freedoms(dyn: condyle.Dynamics, q: np.ndarray) -> int:
    """Of the closed robot: rows of a plane loop depend on each other, so that the rank counts."""
    return q.shape[-1] - int(np.linalg.matrix_rank(dyn.constraint_jacobian(q), tol=1e-9))


def four_bar() -> condyle.Robot:
    """A crank, a coupler and a rocker; the coupler's tip is held at the rocker's."""
    builder = condyle.Builder("four-bar")
    lengths = {"crank": 0.2, "coupler": 0.55, "rocker": 0.4}
    for name, length in lengths.items():
        moments = np.diag((1e-4, length**3 / 6.0, length**3 / 6.0))
        builder.body(name, mass=2.0 * length, com=(0.5 * length, 0.0, 0.0), inertia=moments)
    for name, parent, child, x in (
        ("a", "world", "crank", 0.0),
        ("b", "crank", "coupler", 0.2),
        ("c", "world", "rocker", 0.5),
    ):
        builder.joint(name, parent=parent, child=child, type="revolute", axis=(0.0, -1.0, 0.0), xyz=(x, 0.0, 0.0))
    tip, end = (Placement.from_rpy((lengths[name], 0.0, 0.0)) for name in ("coupler", "rocker"))
    return builder.contact("coupler", "point", other="rocker", placement=tip, anchor=end).build()


linkage = four_bar()
start = linkage.close([1.0, -0.5, 1.2], fixed=["a"])  # from a guess; the crank keeps its angle
swing(linkage, start)

leg = condyle.load(Path(__file__).with_name("leg.xml"))  # `connect` closes its rods; needs condyle[mjcf]
for loop in leg.contacts:
    print(f"{loop.frame} is held at a {loop.kind} of {loop.other}")
swing(leg, leg.close(leg.neutral() + 0.5 * np.eye(7)[0]))

bent = np.tile(leg.neutral(), (5, 1))
bent[:, 2] = np.linspace(-0.2, 0.2, 5)  # five knee angles at once
print("knee and ankle, rad:", np.round(leg.close(bent, fixed=["knee"])[:, 2:4], 3).tolist())
v = leg.close_velocity(leg.neutral(), np.eye(7)[2], fixed=["knee"])  # velocities when the knee turns with 1 rad/s
print("all joints then, rad/s:", dict(zip(leg.joint_names, np.round(v, 3).tolist(), strict=True)))
