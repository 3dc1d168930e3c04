"""The table of docs/results/conserved.md: what steps keep, and how far they are off where they do not.

python -m benchmarks.conserved
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle.specification.integrators import INTEGRATORS

Array = NDArray[np.float64]
LENGTHS = (1e-3, 5e-3)
"""dt [s]."""
ROUNDING = 1e-10
"""What is below is called rounding."""
SPIN = np.array([1.0, 0.0, 0.0, 3.0, -11.0, 27.7])
"""Velocities of a free body that moves at 1 m/s and spins at 30 rad/s."""
STILL = (0.0, 0.0, 0.0)


class Path(NamedTuple):
    """Of a rollout: q (T, nq) and v (T, nv), the first state too."""

    robot: condyle.Robot
    q: Array
    v: Array
    seconds: float


def moved(robot: condyle.Robot, q: Array, v: Array, seconds: float, integrator: str, dt: float) -> Path:
    """Without torques."""
    dyn = robot.compile(integrator=integrator)
    path = dyn.rollout(q, v, np.zeros((round(seconds / dt), robot.nv)), dt)
    return Path(robot, np.vstack([q, path.q]), np.vstack([v, path.v]), seconds)


def body(com: float) -> condyle.Robot:
    """A free body of 1 kg. com: how far its centre of mass is from its frame [m]."""
    builder = condyle.Builder(gravity=STILL).body("b", mass=1.0, com=(com, 0, 0), inertia=np.diag([0.02, 0.03, 0.04]))
    return builder.joint("base", parent="world", child="b", type="free").build()


def pendulum(links: int) -> condyle.Robot:
    """Rods of 1 m and 1 kg, one below the other."""
    builder, parent = condyle.Builder(), "world"
    for k in range(links):
        rod = builder.body(f"rod{k}", mass=1.0, com=(0, 0, -0.5), inertia=np.diag([1 / 12, 1 / 12, 1e-3]))
        below = (0.0, 0.0, -1.0 if k else 0.0)
        builder = rod.joint(f"j{k}", parent=parent, child=f"rod{k}", type="revolute", axis=(0, 1, 0), xyz=below)
        parent = f"rod{k}"
    return builder.build()


def spinning(com: float, integrator: str, dt: float) -> Path:
    robot = body(com)
    return moved(robot, robot.neutral(), SPIN, 2.0, integrator, dt)


def falling(integrator: str, dt: float) -> Path:
    """HyQ: its base spins, its legs swing."""
    robot = condyle.load("hyq", floating_base=True)
    legs = np.random.default_rng(0).uniform(-2.0, 2.0, 12)
    return moved(robot, robot.neutral(), np.array([1, 0, 2, 1, 3, -2, *legs], float), 1.0, integrator, dt)


def swinging(links: int, integrator: str, dt: float) -> Path:
    robot = pendulum(links)
    return moved(robot, np.full(links, 0.5), np.zeros(links), 100.0, integrator, dt)


def momentum(path: Path, part: slice = slice(0, 3)) -> float:
    """How far the linear momentum is off at the end, of its size at the beginning; without gravity."""
    h = path.robot.compile().centroidal_momentum(path.q[[0, -1]], path.v[[0, -1]])[:, part]
    return float(np.linalg.norm(h[1] - h[0]) / np.linalg.norm(h[0]))


def angular(path: Path) -> float:
    """The same of the angular momentum about the centre of mass, which gravity does not change."""
    return momentum(path, slice(3, 6))


def way(path: Path) -> float:
    """How far the centre of mass is from its parabola at the end [m]."""
    robot, t = path.robot, path.seconds
    dyn = robot.compile()
    c, p = dyn.center_of_mass(path.q[[0, -1]]), dyn.centroidal_momentum(path.q[0], path.v[0])[:3]
    return float(np.linalg.norm(c[1] - c[0] - t * p / robot.mass - 0.5 * t**2 * robot.gravity))


def energy(path: Path) -> float:
    """The largest error of the energy in the last tenth of the time, of what the energy is above that at rest."""
    dyn = path.robot.compile()
    found = dyn.kinetic_energy(path.q, path.v) + dyn.potential_energy(path.q)
    rest = float(dyn.potential_energy(path.robot.neutral()))
    return float(np.max(np.abs(found[-(len(found) // 10) :] - found[0])) / (found[0] - rest))


ROWS: Mapping[str, tuple[Callable[[Path], float], Callable[[str, float], Path]]] = {
    "free body, frame at its centre of mass: momentum": (momentum, partial(spinning, 0.0)),
    "its path, m": (way, partial(spinning, 0.0)),
    "its angular momentum": (angular, partial(spinning, 0.0)),
    "the same body, frame 0.1 m away: momentum": (momentum, partial(spinning, 0.1)),
    "path of its centre of mass, m": (way, partial(spinning, 0.1)),
    "HyQ in free fall: path of its centre of mass, m": (way, falling),
    "HyQ in free fall: angular momentum": (angular, falling),
    "pendulum: energy": (energy, partial(swinging, 1)),
    "double pendulum: energy": (energy, partial(swinging, 2)),
}


def table() -> Iterator[str]:
    yield "| off by | " + " | ".join(f'`"{name}"`' for name in INTEGRATORS) + " |"
    yield "|---|" + "---|" * len(INTEGRATORS)
    for row, (error, path) in ROWS.items():
        cells = [[error(path(name, dt)) for dt in LENGTHS] for name in INTEGRATORS]
        yield f"| {row} | {' | '.join(map(text, cells))} |"


def text(errors: Sequence[float]) -> str:
    return "rounding" if max(errors) < ROUNDING else ", ".join(f"{x:.2g}".replace("e-0", "e-") for x in errors)


if __name__ == "__main__":
    print("\n".join(table()))
