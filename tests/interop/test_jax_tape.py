"""The gradient of a rollout by XLA's handler: that of the library to the bit, its memory, threads, what it refuses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.compile.kernels.composed import TAPE, GradientKernel
from condyle.runtime import _native
from condyle.runtime.native import NativeKernel
from tests.interop.jax_cases import Case, floating, jax, wide, wrap

__all__ = ["floating", "wide"]


def gradient(far: Any, **options: Any) -> Any:
    """Of a number that depends on every state that is kept, by state, torques and dt."""

    def loss(q: Any, v: Any, tau: Any, dt: Any) -> Any:
        after = far.rollout(q, v, tau, dt, **options)
        return (after.q**2).sum() + (after.v**2).sum()

    return jax.jit(jax.grad(loss, (0, 1, 2, 3)))


def wanted(dyn: condyle.Dynamics, q: Any, v: Any, tau: Any, dt: Any, **options: Any) -> Any:
    after = dyn.rollout(q, v, tau, dt, **options)
    return dyn.vjp("rollout")(q, v, tau, dt, 2 * after.q, 2 * after.v, **options)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize(("n", "steps"), [(1, 1), (1, 9), (2, 1), (3, 9), (1000, 50)])
def test_it_is_that_of_the_library(threads: int, n: int, steps: int) -> None:
    """1000 rollouts of 50 steps are three pieces on one thread."""
    robot = condyle.chain(3, 0)
    dyn = robot.compile(threads=threads)
    q, v = robot.random_state(n, 0)
    tau, dt = np.random.default_rng(1).normal(size=(n, steps, 3)), np.linspace(0.001, 0.01, n)
    for options in ({}, {"every": 4}, {"last": True}):
        f = gradient(wrap(dyn), **options)
        assert "callback" not in f.lower(q, v, tau, dt).as_text()
        for x, y in zip(f(q, v, tau, dt), wanted(dyn, q, v, tau, dt, **options), strict=True):
            assert np.array_equal(x, y)


def test_one_state_and_one_dt_for_all() -> None:
    robot = condyle.chain(3, 0)
    dyn = robot.compile(threads=1)
    q, v = robot.random_state(5, 0)
    tau = np.random.default_rng(1).normal(size=(5, 7, 3))
    found, want = gradient(wrap(dyn))(q[0], v, tau, 0.01), wanted(dyn, q[0], v, tau, 0.01)
    assert all(np.allclose(x, y, rtol=1e-12) for x, y in zip(found, want, strict=True))


def test_it_is_that_of_differences(floating: Case) -> None:
    """Along the torques and the velocities of a robot with quaternions."""
    rng, (q, v, _) = np.random.default_rng(1), floating.args
    v, tau = v[0], rng.normal(size=(4, floating.robot.nv))
    slope = gradient(floating.far)(q[0], v, tau, 0.01)

    def value(h: float) -> Any:
        after = floating.dyn.rollout(q[0], v + h * dv, tau + h * dtau, 0.01)
        return (after.q**2).sum() + (after.v**2).sum()

    dv, dtau = rng.normal(size=v.shape), rng.normal(size=tau.shape)
    found = slope[1] @ dv + (slope[2] * dtau).sum()
    assert np.isclose(found, (value(1e-6) - value(-1e-6)) / 2e-6, rtol=1e-6)


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="needs Linux' count of memory")
def test_states_of_some_rollouts_are_kept_at_once() -> None:
    """All states are 38 MB, what comes back 19 MB, what is kept at once 1 MB."""
    robot, n, steps = condyle.chain(3, 0), 2000, 400
    f = gradient(wrap(robot.compile(threads=1)), last=True)
    q, v = robot.random_state(n, 0)
    given = [jax.numpy.asarray(x) for x in (q, v, np.zeros((n, steps, 3)), 0.001)]
    compiled = f.lower(*given).compile()
    Path("/proc/self/clear_refs").write_text("5")  # the most that was in memory is what is there now
    before = memory("VmHWM")
    answers = jax.block_until_ready(compiled(*given))
    assert memory("VmHWM") - before < answers[2].nbytes + 16 * TAPE  # with what allocators keep, also of sanitizers


def memory(what: str) -> int:
    """Bytes of this process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(what))


def test_ways_that_do_not_belong_together_are_refused() -> None:
    kernel: Any = condyle.chain(2, 0).compile(threads=1).kernel("vjp_rollout_3_by_tau_of_step")
    assert isinstance(kernel, GradientKernel) and isinstance(kernel.forward, NativeKernel)
    forward, backward, carried = kernel.forward.entry, kernel.backward.entry, tuple(kernel.carried.items())
    for ways, steps, states, match in (
        ((forward, None, forward, None), 3, carried, "no ports|with its steps|answers what"),
        ((backward, None, backward, None), 3, carried, "the way forward"),
        ((forward, None, backward, None), 4, carried, "with its steps"),
        ((forward, None, backward, None), 3, carried[:1], "answers what is carried"),
        ((forward, None, backward, None), 3, ((9, 2), (1, 2)), "with its steps"),
    ):
        with pytest.raises(ValueError, match=match):
            _native.export_tape(1, *ways, steps, states)
    with pytest.raises(TypeError, match="Entry or None"):
        _native.export_tape(1, 3, None, backward, None, 3, carried)  # type: ignore[arg-type]
