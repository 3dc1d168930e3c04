"""Robots, their functions on tensors, and states that require gradients."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch: Any = pytest.importorskip("torch", reason="pip install 'condyle[torch]'")

import condyle  # noqa: E402
from condyle.interop.torch import wrap  # noqa: E402

__all__ = ["F64", "Case", "arrays", "fixed", "floating", "hyq", "torch", "wrap"]

F64 = torch.float64


class Case:
    """A robot, its functions, and states that require gradients."""

    def __init__(self, robot: condyle.Robot, n: int = 2, **options: Any) -> None:
        self.robot, self.dyn = robot, robot.compile(threads=1, **options)
        self.far = wrap(self.dyn)
        q, v = robot.random_state(n, 0)
        self.q, self.v = (torch.from_numpy(x).requires_grad_() for x in (q, v))
        self.tau = torch.from_numpy(np.random.default_rng(1).normal(size=robot.nv)).requires_grad_()
        self.args = self.q, self.v, self.tau

    def unit(self, q: Any) -> Any:
        """The configuration of a floating base with its quaternion made unit."""
        if self.robot.nq == self.robot.nv:
            return q
        return torch.cat([q[..., :3], q[..., 3:7] / q[..., 3:7].norm(dim=-1, keepdim=True), q[..., 7:]], -1)

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


def arrays(*tensors: Any) -> list[Any]:
    return [x.detach().numpy() for x in tensors]
