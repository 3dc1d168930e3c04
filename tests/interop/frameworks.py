"""JAX and PyTorch by one interface: `jax` and `torch.func` have transformations of the same names and arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest

import condyle


class Framework(NamedTuple):
    """`of` has grad, jacrev, jacfwd, hessian and vmap; `jit` compiles a function, where that takes no seconds; `array`
    makes an array of it, `wrap` is the library's."""

    of: Any
    jit: Callable[[Any], Any]
    array: Callable[[Any], Any]
    wrap: Callable[..., Any]


class Case(NamedTuple):
    """A robot, its functions on NumPy arrays and on a framework's, and five states as NumPy has them."""

    robot: condyle.Robot
    dyn: condyle.Dynamics
    far: Any
    q: np.ndarray
    v: np.ndarray
    tau: np.ndarray


ROBOTS = {
    "fixed": lambda: condyle.random_tree(3, 4, types=("revolute", "prismatic")),
    "floating": lambda: condyle.random_tree(2, 7, types=("spherical", "planar"), floating_base=True),
    "hyq": lambda: condyle.load("hyq", floating_base=True),
}
"""The second one has quaternions and a planar joint's angle."""


def jax_() -> Iterator[Framework]:
    jax = pytest.importorskip("jax", reason="pip install 'condyle[jax]'")
    from condyle.interop.jax import wrap

    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield Framework(jax, jax.jit, jax.numpy.asarray, wrap)
    jax.config.update("jax_enable_x64", before)


def torch_() -> Iterator[Framework]:
    torch = pytest.importorskip("torch", reason="pip install 'condyle[torch]'")
    from condyle.interop.torch import wrap

    yield Framework(torch.func, lambda f: f, torch.from_numpy, wrap)


FRAMEWORKS = {"jax": jax_, "torch": torch_}


def case(framework: Framework, name: str, dtype: str = "float64") -> Case:
    robot = ROBOTS[name]()
    dyn = robot.compile(threads=1, dtype=dtype)
    q, v = (x.astype(dtype) for x in robot.random_state(5, 3))
    return Case(robot, dyn, framework.wrap(dyn), q, v, (0.3 * v).astype(dtype))
