"""The table of docs/how-to/kinematics.md about errors far from the world's origin."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import Dynamics
from tests.laws.robots import Array, relative

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "kinematics.md"
HEAD = "| distance | float32: h, dh, cmm, jac, djac | float32: com | float32: fk | float64: com | float64: fk |"
UNITS = {"m": 1.0, "km": 1e3}


def rows() -> list[list[str]]:
    """The cells below the head."""
    lines = PAGE.read_text(encoding="utf-8").splitlines()
    first = lines.index(HEAD) + 2
    count = next(k for k, line in enumerate(lines[first:]) if not line)
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[first : first + count]]


def metres(cell: str) -> float:
    number, unit = cell.split()
    return float(number) * UNITS[unit]


@cache
def compiled(dtype: str) -> Dynamics:
    robot = condyle.load("hyq", floating_base=True)
    frames = ("lf_foot", "base_link_0")
    return robot.compile(target="numpy", dtype=dtype, frames=frames, reference_frame="local_world_aligned")


def answers(dtype: str, distance: float) -> list[Array]:
    """Of 200 states, float64: h, dh, cmm, jac, djac; then com and fk, seen from the base's place."""
    dyn, rng = compiled(dtype), np.random.default_rng(1)
    robot = condyle.load("hyq", floating_base=True)
    q, v = (x.astype(np.float32).astype(dtype) for x in robot.random_state(200, 0))
    a = rng.uniform(-1.0, 1.0, v.shape).astype(np.float32).astype(dtype)
    q[:, :3] = distance, 0.0, 0.0
    momenta = dyn.centroidal_momentum(q, v), dyn.centroidal_momentum_rate(q, v, a), dyn.centroidal_momentum_matrix(q)
    motion = dyn.frame_jacobians(q), dyn.frame_jacobians_time_derivative(q, v)
    places = dyn.center_of_mass(q), dyn.frame_placements(q).translation
    moved = [np.asarray(x, np.float64) - np.array([distance, 0.0, 0.0]) for x in places]
    return [np.asarray(x, np.float64) for x in (*momenta, *motion)] + moved


@pytest.mark.parametrize("row", rows(), ids=lambda row: row[0])
def test_errors_are_those_of_the_page(row: list[str]) -> None:
    """At most what the page says, and not far below it."""
    distance, want = metres(row[0]), answers("float64", 0.0)
    shown = [float(row[1]), *(metres(cell) for cell in row[2:])]
    measured = list[float]()
    for dtype in ("float32", "float64"):
        found = answers(dtype, distance)
        if dtype == "float32":
            measured.append(max(relative(x, y) for x, y in zip(found[:5], want[:5], strict=True)))
        measured += [float(np.abs(x - y).max()) for x, y in zip(found[5:], want[5:], strict=True)]
    assert len(shown) == len(measured) == 5
    for one, other in zip(measured, shown, strict=True):
        assert 0.2 * other <= one <= other, measured
