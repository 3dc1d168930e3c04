"""Rollouts on target "cuda": one kernel for every number of steps, with arrays of the processor or of the GPU."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import pytest

import condyle
from condyle.backends.cuda.kernel import CudaFunction
from condyle.compile.gpu import GpuKernels
from condyle.errors import UnsupportedError
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.calls import on_gpu

N, STEPS = 40, 4


@pytest.fixture(scope="module")
def robot() -> condyle.Robot:
    return condyle.chain(3, rng=2)


def given(robot: condyle.Robot, steps: int = STEPS) -> list[np.ndarray]:
    rng = np.random.default_rng(3)
    q, v = robot.random_state(N, rng)
    return [q, v, rng.uniform(-1, 1, (N, steps, robot.nv)), np.full(1, 0.01)]


def same(found: Sequence[np.ndarray], wanted: Sequence[np.ndarray]) -> None:
    for x, y in zip(found, wanted, strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=1e-12 * max(1.0, np.abs(y).max()))


def test_one_kernel_serves_every_number_of_steps(fake: FakeDriver, robot: condyle.Robot) -> None:
    dyn, numpy = robot.compile(target="cuda"), robot.compile(target="numpy")
    for steps, kept in ((4, ""), (7, "_every_3"), (1, "")):
        name = f"rollout_{steps}_by_tau{kept}_of_step"
        fake.calls.clear()
        same(dyn.call(name, given(robot, steps)), numpy.call(name, given(robot, steps)))
        assert fake.calls.count("cuLaunchKernel") == 1
    made = [kernel for function in dyn._kernels.values() for kernel in cast(CudaFunction, function)._kernels.values()]
    assert len({kernel.launches[0].text.ptx for kernel in made}) == 1


def test_arrays_on_the_gpu(fake: FakeDriver, robot: condyle.Robot) -> None:
    dyn, name = robot.compile(target="cuda"), f"rollout_{STEPS}_by_tau_last_of_step"
    lent: list[Any] = [on_gpu(fake, x) for x in given(robot)]
    found: Any = dyn.call(name, lent)
    same([x.numpy() for x in found], robot.compile(target="numpy").call(name, given(robot)))
    assert dyn.memory(N, (name,))[name] == 8 * N * (2 * robot.nv * 2 + STEPS * robot.nv + 1)
    assert f"{STEPS} times" in dyn.explain(N, (name,))


def test_gradients_forward_and_back(fake: FakeDriver, robot: condyle.Robot) -> None:
    name, rng = f"vjp_rollout_{STEPS}_by_tau_every_2_of_step", np.random.default_rng(4)
    arguments = [*given(robot)[:3], np.full(N, 0.01), *(rng.normal(size=(N, 2, robot.nv)) for _ in range(2))]
    dyn = robot.compile(target="cuda")
    fake.calls.clear()
    same(dyn.call(name, arguments), robot.compile(target="numpy").call(name, arguments))
    assert fake.calls.count("cuLaunchKernel") == 2
    lent: list[Any] = [on_gpu(fake, x) for x in arguments]
    with pytest.raises(UnsupportedError, match="arrays that lie there"):
        dyn.call(name, lent)


def test_what_is_too_long_goes_step_by_step(
    fake: FakeDriver, robot: condyle.Robot, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = f"rollout_{STEPS}_by_q_v_tau_of_dfd"
    rng = np.random.default_rng(5)
    arguments = [rng.uniform(-1, 1, (N, STEPS, robot.nv)) for _ in range(3)]
    dyn = robot.compile(target="cuda")
    monkeypatch.setattr(GpuKernels, "usual", lambda *_, **__: "split")
    fake.calls.clear()
    same(dyn.call(name, arguments), robot.compile(target="numpy").call(name, arguments))
    assert fake.calls.count("cuLaunchKernel") >= STEPS


@pytest.mark.slow
def test_a_base_that_spins(fake: FakeDriver) -> None:
    """A free base and a planar joint: steps, A and B, and a rollout."""
    robot = condyle.random_tree(1, 1, types=("planar",), floating_base=True)
    dyn, numpy = robot.compile(target="cuda"), robot.compile(target="numpy")
    q, v, tau, dt = given(robot)
    v[:, 3:6] *= 20.0
    same(dyn.step(q, v, tau[:, 0], 0.01), numpy.step(q, v, tau[:, 0], 0.01))
    same(dyn.step_derivatives(q, v, tau[:, 0], 0.01), numpy.step_derivatives(q, v, tau[:, 0], 0.01))
    same(dyn.rollout(q, v, tau, dt), numpy.rollout(q, v, tau, dt))
