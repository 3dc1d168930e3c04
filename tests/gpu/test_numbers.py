"""Numbers of the robot as inputs on target "cuda": from the processor's memory, from the GPU, left out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

import condyle
from condyle.errors import DTypeError
from condyle.specification.ports import NUMBERS
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.calls import given, on_gpu, same
from tests.processor import slow

N = 40
OPEN = ("inertias", "gravity")


@pytest.fixture(scope="module")
def reference() -> condyle.Dynamics:
    return condyle.load("iiwa14").compile(target="numpy", inputs=OPEN)


def opened() -> condyle.Dynamics:
    return condyle.load("iiwa14").compile(target="cuda", inputs=OPEN)


def inertias() -> np.ndarray:
    return condyle.load("iiwa14").inertias * np.linspace(0.9, 1.1, N)[:, None, None]


def lent(api: FakeDriver, *arrays: np.ndarray) -> list[SimpleNamespace]:
    made = [on_gpu(api, array) for array in arrays]
    for one in made:
        one.shape = one.host.shape
    return made


@pytest.mark.parametrize("kernels", [slow("thread"), slow("group8")])
def test_arrays_of_the_processor(fake: FakeDriver, reference: condyle.Dynamics, kernels: str) -> None:
    robot = condyle.load("iiwa14")
    named = {"fd_inertias_gravity": kernels, "fd_f_ext_inertias_gravity": kernels}
    q, v, tau, f_ext = given("fd", N, f_ext=True)
    dyn = robot.compile(target="cuda", inputs=OPEN, kernels=named)
    for numbers in ({"inertias": inertias()}, {"gravity": np.array([1.0, 2.0, 3.0])}, {}):
        same(dyn.forward_dynamics(q, v, tau, **numbers), (reference.forward_dynamics(q, v, tau, **numbers),))
        want = reference.forward_dynamics(q, v, tau, f_ext=f_ext, **numbers)
        same(dyn.forward_dynamics(q, v, tau, f_ext=f_ext, **numbers), (want,))


def test_float32(fake: FakeDriver) -> None:
    robot, (q, v, a) = condyle.load("iiwa14"), given("id", N)
    dyn = robot.compile(
        target="cuda", dtype="float32", inputs=tuple(name for name in NUMBERS if name != "actuator_gains")
    )
    got = dyn.inverse_dynamics(*(x.astype("f4") for x in (q, v, a)), damping=np.ones(7, "f4"))
    want = robot.compile().inverse_dynamics(q, v, a) + v
    np.testing.assert_allclose(got, want, rtol=0, atol=2e-5 * np.abs(want).max())


def test_arrays_on_the_gpu(fake: FakeDriver, reference: condyle.Dynamics) -> None:
    """What is left out is copied there once."""
    dyn, pi, (q, v, tau) = opened(), inertias(), given("fd", N)
    want = reference.forward_dynamics(q, v, tau, inertias=pi)
    there = lent(fake, q, v, tau, pi)
    for _ in range(2):
        same(cast(Any, dyn.forward_dynamics(*there[:3], inertias=there[3])).numpy(), (want,))
    assert fake.calls.count("cuMemcpyHtoD") == 1
    along = cast(Any, dyn.jvp("fd")(*there[:3], *there[:3], inertias=there[3]))
    same(along.numpy(), (reference.jvp("fd")(q, v, tau, q, v, tau, inertias=pi),))
    with pytest.raises(DTypeError, match="gravity is not on the GPU"):
        dyn.forward_dynamics(*there[:3], inertias=there[3], gravity=np.zeros(3))


@pytest.mark.slow  # four functions are traced
def test_gradients_and_rollouts_there(fake: FakeDriver, reference: condyle.Dynamics) -> None:
    dyn, pi, (q, v, tau) = opened(), inertias(), given("fd", N)
    gravity = np.tile(condyle.load("iiwa14").gravity, (N, 1))
    there = lent(fake, q, v, tau, tau, pi, gravity)
    bars = dyn.vjp("fd")(*there[:4], inertias=there[4], gravity=there[5])
    want = reference.vjp("fd")(q, v, tau, tau, inertias=pi, gravity=gravity)
    same(tuple(one.numpy() for one in bars), tuple(want))
    torques, dt = np.stack([tau, -tau], axis=1), np.full(N, 0.01)
    last = dyn.rollout(*lent(fake, q, v, torques, dt), last=True)
    same(tuple(one.numpy() for one in cast(Any, last)), tuple(reference.rollout(q, v, torques, dt, last=True)))
