"""Robots, their functions on JAX arrays, and states."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

jax: Any = pytest.importorskip("jax", reason="pip install 'condyle[jax]'")
jnp: Any = pytest.importorskip("jax.numpy")

import condyle  # noqa: E402
from condyle.interop.jax import wrap  # noqa: E402

__all__ = ["Case", "fixed", "floating", "hyq", "jax", "jnp", "wide", "wrap"]


@pytest.fixture(autouse=True)
def wide() -> Any:
    """Numbers of double precision."""
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


class Case:
    """A robot, its functions, and states."""

    def __init__(self, robot: condyle.Robot, n: int = 2, **options: Any) -> None:
        self.robot, self.dyn = robot, robot.compile(threads=1, **options)
        self.far = wrap(self.dyn)
        self.q, self.v = robot.random_state(n, 0)
        self.tau = np.random.default_rng(1).normal(size=robot.nv)
        self.args = self.q, self.v, self.tau

    def unit(self, q: Any) -> Any:
        """The configuration of a floating base with its quaternion made unit."""
        if self.robot.nq == self.robot.nv:
            return q
        length = jnp.linalg.norm(q[..., 3:7], axis=-1, keepdims=True)
        return jnp.concatenate([q[..., :3], q[..., 3:7] / length, q[..., 7:]], -1)

    def fd(self, q: Any, v: Any, tau: Any) -> Any:
        return 0.1 * self.far.forward_dynamics(self.unit(q), v, tau)


@pytest.fixture(scope="module")
def fixed() -> Case:
    return Case(condyle.chain(3, 0))


@pytest.fixture(scope="module")
def floating() -> Case:
    return Case(condyle.random_tree(2, 1, types=("revolute",), floating_base=True), inputs=("inertias", "gravity"))


@pytest.fixture(scope="module")
def hyq() -> Case:
    return Case(condyle.load("hyq", floating_base=True), n=3)
