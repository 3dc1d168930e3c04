"""Chains and trees whose numbers are exact in float32, so that what float32 loses is the algorithm's loss alone."""

from __future__ import annotations

import numpy as np

import condyle

Array = np.ndarray
GRAVITY = (0.0, 0.0, -9.8125)


def chain(n: int, rng: int, prismatic: float = 0.2) -> condyle.Robot:
    """A serial chain: frames turned by quarter turns, random axes, links about 0.3 m apart."""
    return tree(list(range(-1, n - 1)), rng, prismatic)


def random_tree(n: int, rng: int) -> condyle.Robot:
    """Every link hangs on one of the four before it."""
    generator = np.random.default_rng(rng)
    return tree([int(generator.integers(max(-1, i - 4), i)) if i else -1 for i in range(n)], rng)


def tree(parents: list[int], rng: int, prismatic: float = 0.2) -> condyle.Robot:
    """A tree of revolute and prismatic joints with these parents, -1 the world."""
    generator = np.random.default_rng(rng)
    builder = condyle.Builder(gravity=GRAVITY)
    for i, parent in enumerate(parents):
        mass = rounded(generator.uniform(0.5, 2.0))
        inertia = np.diag(rounded(generator.uniform(0.01, 0.02, 3)))
        builder.body(f"link{i}", mass=float(mass), com=rounded(generator.uniform(-0.1, 0.1, 3)), inertia=inertia)
        direction = generator.standard_normal(3)
        builder.joint(
            f"joint{i}",
            parent="world" if parent < 0 else f"link{parent}",
            child=f"link{i}",
            type="prismatic" if generator.random() < prismatic else "revolute",
            axis=np.eye(3)[generator.integers(3)],
            xyz=rounded(0.3 * direction / np.linalg.norm(direction)),
            rpy=np.pi / 2 * generator.integers(-1, 3, 3),
        )
    return builder.build()


def rounded(x: Array) -> Array:
    """To multiples of 2^-10: products of two such numbers below 8 are exact too."""
    return np.round(np.asarray(x) * 1024) / 1024


def single(x: Array) -> Array:
    """The same numbers with float32's digits."""
    return x.astype(np.float32).astype(np.float64)
