"""Functions on JAX arrays of a GPU, a fake one and a real one: launches in XLA's stream, derivatives, errors."""

from __future__ import annotations

import re
from importlib import import_module
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.cuda import kernel as kernels
from condyle.errors import DeviceError, UnsupportedError
from tests.devices import without_gpu
from tests.interop.gpu_cases import STREAM, FakeXla, fake, library, xla
from tests.interop.jax_cases import jax, jnp, wide, wrap

__all__ = ["fake", "library", "wide", "xla"]

jax_gpu: Any = import_module("condyle.interop.jax.gpu")  # after JAX, without which this file is skipped


class Case:
    def __init__(self, robot: condyle.Robot, n: int = 5, **options: Any) -> None:
        self.robot, self.dyn = robot, robot.compile(threads=1)
        self.gpu = robot.compile(target="cuda", **options)
        self.far = wrap(self.gpu)
        self.q, self.v = robot.random_state(n, 0)
        self.tau = np.random.default_rng(1).normal(size=robot.nv)
        self.args = self.q, self.v, self.tau


@pytest.fixture
def arm(xla: FakeXla) -> Case:
    return Case(condyle.chain(2, 0))


def lowered(f: Any, *args: Any) -> list[tuple[int, list[str]]]:
    """Numbers and types of answers of the calls in XLA's program for a GPU."""
    text = jax.jit(f).trace(*args).lower(lowering_platforms=("cuda",)).as_text()
    found = re.findall(r"stablehlo.custom_call @(\w+)\(.*number = (-?\d+) : i64.*-> (.*)", text)
    return [(int(number), re.findall(r"tensor<([^>]*)>", gives)) for name, number, gives in found if "condyle" in name]


def close(found: Any, want: Any, tolerance: float = 1e-9) -> None:
    assert len(jax.tree.leaves(found)) == len(jax.tree.leaves(want))
    for x, y in zip(jax.tree.leaves(found), jax.tree.leaves(want), strict=True):
        np.testing.assert_allclose(x, y, rtol=0, atol=tolerance * max(1.0, np.abs(y).max()))


def test_kernels_are_launched_in_the_stream_on_the_arrays(arm: Case, xla: FakeXla) -> None:
    """By a frame of ours: stream, grid, addresses; the torque is one for all states."""
    ((number, gives),) = lowered(arm.far.forward_dynamics, *arm.args)
    assert gives == ["5x2xf64"]
    a = np.empty((5, 2))
    assert xla.call(number, arm.args, [a]) is None
    (launch,) = xla.launches
    assert launch.stream == STREAM and launch.grid == 1 and launch.block % 32 == 0 and launch.shared > 0
    places = [array.ctypes.data for array in (*arm.args, a)]
    assert launch.values[:9] == (5, 0, places[0], 16, places[1], 16, places[2], 0, places[3])
    close(a, arm.dyn.forward_dynamics(*arm.args))
    assert not {"cuMemAllocFromPoolAsync", "cuMemcpyDtoHAsync", "cuStreamSynchronize"} & set(xla.driver.calls)
    assert xla.library.traits() == 0x101  # interface 0.1, and graphs may capture its calls


def test_several_kernels_run_in_order_on_scratch_of_xla(xla: FakeXla, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(condyle.chain(2, 0), kernels={"dfd": "thread split"})
    for most, launches in ((1 << 20, 4), (200, 12)):  # the second time in pieces of 2 states, one after the other
        monkeypatch.setattr(kernels, "SCRATCH_BYTES", most)
        far = wrap(case.robot.compile(target="cuda", kernels={"dfd": "thread split"}))
        ((number, gives),) = lowered(far.forward_dynamics_derivatives, *case.args)
        assert gives[:3] == ["5x2x2xf64"] * 3 and gives[3].endswith("xui8")
        want = case.dyn.forward_dynamics_derivatives(*case.args)
        found = [*(np.full((5, 2, 2), np.nan) for _ in range(3)), np.empty(int(gives[3].split("x")[0]), np.uint8)]
        assert len(found[3]) <= most
        xla.launches.clear()
        assert xla.call(number, case.args, found) is None
        assert len(xla.launches) == launches and {launch.stream for launch in xla.launches} == {STREAM}
        close(found[:3], list(want))


def test_answers_are_those_of_the_processor(arm: Case, xla: FakeXla) -> None:
    for call in (arm.far.forward_dynamics, jax.jit(arm.far.forward_dynamics)):
        close(call(*arm.args), arm.dyn.forward_dynamics(*arm.args))
    both = jax.vmap(jax.vmap(arm.far.forward_dynamics, (0, None, None)), (None, 0, None))
    close(both(*arm.args), arm.dyn.forward_dynamics(arm.q[None], arm.v[:, None], arm.tau))
    assert arm.far.forward_dynamics(arm.q[:0], arm.v[:0], arm.tau).shape == (0, 2)
    close(arm.far.mass_matrix(arm.q[0]), arm.dyn.mass_matrix(arm.q[0]))
    assert xla.driver.calls.count("cuMemAllocFromPoolAsync") == 0


@pytest.mark.slow
def test_derivatives_are_calls_too(arm: Case, xla: FakeXla) -> None:
    loss = lambda *x: (arm.far.forward_dynamics(*x) ** 2).sum()  # noqa: E731
    bar = 2 * arm.dyn.forward_dynamics(*arm.args)
    close(jax.jit(jax.grad(loss, (0, 1, 2)))(*arm.args), arm.dyn.vjp("fd")(*arm.args, bar))
    along = tuple(np.ones_like(x) for x in arm.args)
    want = arm.dyn.jvp("fd")(*arm.args, *along)
    close(jax.jvp(arm.far.forward_dynamics, arm.args, along)[1], want)
    one, lam = [x[0] if x.ndim > 1 else x for x in arm.args], np.array([0.3, -0.7])
    close(jax.jacrev(arm.far.forward_dynamics, (0, 1, 2))(*one), arm.dyn.forward_dynamics_derivatives(*one))
    hessian = jax.hessian(lambda q: lam @ arm.far.forward_dynamics(q, *one[1:]))(one[0])
    close(hessian, arm.dyn.hessian("fd")(*one, lam)[:2, :2])
    assert len(xla.launches) > 6


def test_rollouts_have_their_gradient(arm: Case, xla: FakeXla) -> None:
    tau = np.random.default_rng(2).normal(size=(5, 4, 2))
    close(jax.jit(arm.far.rollout)(arm.q, arm.v, tau, 0.01), arm.dyn.rollout(arm.q, arm.v, tau, 0.01))

    def loss(q: Any, v: Any, tau: Any) -> Any:
        end = arm.far.rollout(q, v, tau, 0.01, every=2)
        return (end.q**2).sum() + (end.v**2).sum()

    end = arm.dyn.rollout(arm.q, arm.v, tau, 0.01, every=2)
    want = arm.dyn.vjp("rollout")(arm.q, arm.v, tau, 0.01, 2 * end.q, 2 * end.v, every=2)[:3]
    close(jax.jit(jax.grad(loss, (0, 1, 2)))(arm.q, arm.v, tau), want)
    end = arm.dyn.rollout(arm.q[0], arm.v, tau, 0.01, every=2)
    want = arm.dyn.vjp("rollout")(arm.q[0], arm.v, tau, 0.01, 2 * end.q, 2 * end.v, every=2).q
    close(jax.grad(loss)(arm.q[0], arm.v, tau), want)  # one configuration for all
    step = jax.grad(lambda tau: (arm.far.rollout(arm.q, arm.v, tau, 0.01, last=True).v).sum())(tau[:, :1])
    ones = np.ones_like(arm.v)
    close(step, arm.dyn.vjp("rollout")(arm.q, arm.v, tau[:, :1], 0.01, 0 * ones, ones, last=True).tau)


def test_a_floating_base_and_single_precision(xla: FakeXla) -> None:
    case = Case(condyle.random_tree(1, 1, types=("revolute",), floating_base=True), n=2, dtype="float32")
    q, v, tau = (np.float32(x) for x in case.args)
    close(case.far.forward_dynamics(q, v, tau), case.dyn.forward_dynamics(*case.args), 1e-4)
    found = jax.grad(lambda q: wrap(case.gpu, "tangent").forward_dynamics(q, v, tau).sum())(q)
    want = case.dyn.vjp("fd")(*case.args, np.ones_like(case.v)).q
    close(found, np.concatenate([want, np.zeros((2, 1))], 1), 1e-3)


def test_forces_numbers_and_functions_of_users(xla: FakeXla) -> None:
    robot = condyle.chain(2, 0)
    dyn, far = (robot.compile(target=target, inputs=("inertias",), threads=1) for target in ("cpu", "cuda"))
    far, (q, v) = wrap(far), robot.random_state(3, 0)
    pi, f_ext = np.array(robot.inertias), np.random.default_rng(0).normal(size=(3, 2, 6))
    close(far.forward_dynamics(q, v, v, inertias=1.1 * pi), dyn.forward_dynamics(q, v, v, inertias=1.1 * pi))
    a = dyn.forward_dynamics(q, v, v, f_ext=f_ext)
    want = dyn.vjp("fd")(q, v, v, 2 * a, f_ext=f_ext, inertias=pi)
    loss = lambda f, pi: (far.forward_dynamics(q, v, v, f_ext=f, inertias=pi) ** 2).sum()  # noqa: E731
    close(jax.grad(loss, (0, 1))(f_ext, pi), (want.f_ext, want.inertias))

    def reach(at: Any, u: Any) -> Any:
        return {"cost": (at.q**2).sum() + (u**2).sum(), "a": at.forward_dynamics(u)}

    made = robot.function(reach, inputs={"q": "nq", "v": "nv", "u": 2})
    own, want = wrap(made.compile(target="cuda")), made.compile(threads=1)(q, v, v)
    close(tuple(own(q, v, v)), tuple(want))
    close(jax.grad(lambda u: own(q, v, u).cost.sum())(v), 2 * v)
    assert xla.launches


def test_what_does_not_fit_is_said(arm: Case, xla: FakeXla, monkeypatch: pytest.MonkeyPatch) -> None:
    ((number, _),) = lowered(arm.far.forward_dynamics, *arm.args)
    a = np.empty((5, 2))
    for inputs in (arm.args[:2], (arm.q, arm.v, arm.v), (np.float32(arm.q), *arm.args[1:])):
        assert "the arrays do not fit" in str(xla.call(number, inputs, [a]))
    assert "has not loaded the function" in str(xla.call(1, arm.args, [a]))
    xla.status = 1
    assert xla.call(number, arm.args, [a]) == "condyle: cuLaunchKernel: CUDA_ERROR_INVALID_VALUE"
    xla.status, xla.context = 0, 0xD0
    xla.set_up()
    assert "compiled for GPU 0 and the arrays lie on another one" in str(xla.call(number, arm.args, [a]))
    assert not xla.launches
    with pytest.raises(UnsupportedError, match=r"target 'cpu' does not run where JAX's arrays lie"):
        lowered(wrap(arm.dyn).forward_dynamics, *arm.args)
    jax_gpu._open.cache_clear()
    monkeypatch.setattr(jax_gpu, "DRIVER", "libno_such_driver.so")
    with pytest.raises(DeviceError, match=r"libno_such_driver\.so.*install an NVIDIA driver"):
        lowered(arm.far.inverse_dynamics, *arm.args[:2], arm.v)


def test_a_gpu_that_jax_has_not(fake: Any) -> None:
    far = wrap(condyle.chain(2, 0).compile(target="cuda"))
    with pytest.raises(UnsupportedError, match=r"target 'cuda' does not run where JAX's arrays lie: .*jax\[cuda"):
        far.forward_dynamics(*np.zeros((3, 2)))


@pytest.mark.gpu
def test_answers_and_gradients_on_a_gpu(request: pytest.FixtureRequest) -> None:
    try:
        device = jax.devices("cuda")[0]
    except RuntimeError:
        without_gpu(request.config, "JAX sees no NVIDIA GPU; pip install 'jax[cuda13]'")
    case = Case(condyle.load("hyq", floating_base=True), n=300)
    there = [jax.device_put(x, device) for x in case.args]
    loss = lambda *x: (case.far.forward_dynamics(*x) ** 2).sum()  # noqa: E731
    close(jax.jit(case.far.forward_dynamics)(*there), case.dyn.forward_dynamics(*case.args))
    there_and_back = jax.jit(jax.grad(loss, (0, 1, 2)))(*there)
    with jax.default_device(jax.devices("cpu")[0]):
        want = jax.grad(lambda *x: (wrap(case.dyn).forward_dynamics(*x) ** 2).sum(), (0, 1, 2))(*case.args)
    close(there_and_back, want, 1e-7)
    tau = jnp.zeros((300, 10, case.robot.nv), device=device)
    rolled = jax.jit(jax.grad(lambda tau: case.far.rollout(*there[:2], tau, 0.001, last=True).v.sum()))(tau)
    bars = np.zeros_like(case.q), np.ones_like(case.v)
    close(rolled, case.dyn.vjp("rollout")(*case.args[:2], np.asarray(tau), 0.001, *bars, last=True).tau, 1e-7)
