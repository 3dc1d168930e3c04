"""Functions on JAX arrays: answers as of arrays, every transformation, what is refused."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import condyle
from condyle.errors import DTypeError, ShapeError, ShapeWarning, UnsupportedError

jax = pytest.importorskip("jax")
import jax.numpy as jnp  # noqa: E402

from condyle.interop.jax import wrap  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def double_precision():
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


class Case(NamedTuple):
    robot: Any
    dyn: Any
    far: Any
    q: Any
    v: Any
    tau: Any

    @property
    def one(self) -> tuple[Any, Any, Any]:
        return self.q[0], self.v[0], self.tau[0]


def case(robot: Any, **options: Any) -> Case:
    dyn = robot.compile(threads=1, **options)
    q, v = robot.random_state(5, 3)
    return Case(robot, dyn, wrap(dyn), q, v, 0.3 * v)


@pytest.fixture(scope="module")
def fixed():
    return case(condyle.random_tree(3, 4, types=("revolute", "prismatic")))


@pytest.fixture(scope="module")
def floating():
    """Quaternions, a planar joint's angle, forces and open numbers."""
    robot = condyle.random_tree(2, 7, types=("spherical", "planar"), floating_base=True)
    return case(robot, inputs=("inertias", "gravity"))


def differences(f, x, along, h=1e-6):
    return (np.asarray(f(x + h * along)) - np.asarray(f(x - h * along))) / (2 * h)


def test_third_derivatives_agree_with_differences(fixed):
    def second(x):
        return jax.grad(lambda y: jax.grad(lambda q: fixed.far.kinetic_energy(q, fixed.v[0]))(y) @ fixed.v[1])(x)

    q, along = fixed.q[0], fixed.v[2]
    third = jax.jvp(second, (q,), (along,))[1]
    assert np.allclose(third, differences(second, q, along), rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_tangents_of_a_floating_base_are_those_of_its_entries(floating):
    """Along a curve of configurations, and in reverse by the transpose."""
    robot, far = floating.robot, floating.far
    q, v, tau = floating.one
    step = floating.v[1]
    h = 1e-6
    ends = [np.asarray(robot.integrate(q, s * step)) for s in (h, -h)]
    entries = (ends[0] - ends[1]) / (2 * h)
    fd = lambda q: far.forward_dynamics(q, v, tau)  # noqa: E731
    found = jax.jvp(fd, (q,), (entries,))[1]
    assert np.allclose(found, (fd(ends[0]) - fd(ends[1])) / (2 * h), rtol=1e-5, atol=1e-5)
    bar = floating.v[2]
    (slope,) = jax.vjp(fd, q)[1](jnp.asarray(bar))
    assert np.isclose(slope @ entries, found @ bar)
    tangent = wrap(floating.dyn, q_gradient="tangent")
    (slope,) = jax.vjp(lambda q: tangent.forward_dynamics(q, v, tau), q)[1](jnp.asarray(bar))
    assert np.allclose(slope[: robot.nv], floating.dyn.vjp("fd")(q, v, tau, bar).q) and not slope[robot.nv :].any()
    moved = jax.jvp(lambda s: far.integrate(q, s), (0 * step,), (step,))[1]
    assert np.allclose(moved, entries, atol=1e-8)
    gradient = jax.jit(jax.grad(lambda q: fd(q) @ bar))
    second = jax.jit(jax.grad(lambda q: gradient(q) @ entries))(q)
    slopes = [gradient(x) @ entries for x in ends]
    assert np.isclose(second @ entries, (slopes[0] - slopes[1]) / (2 * h), rtol=1e-4, atol=1e-4)


def test_forces_and_open_numbers_are_differentiated(floating):
    q, v, tau = floating.q, floating.v, floating.tau
    pi = np.array(floating.robot.inertias)
    f_ext = np.random.default_rng(0).standard_normal((5, len(pi), 6))
    loss = lambda f, pi: (floating.far.forward_dynamics(q, v, tau, f_ext=f, inertias=pi) ** 2).sum()  # noqa: E731
    a = floating.dyn.forward_dynamics(q, v, tau, f_ext=f_ext)
    want = floating.dyn.vjp("fd")(q, v, tau, 2 * a, f_ext=f_ext, inertias=pi)
    by_force, by_inertias = jax.jit(jax.grad(loss, (0, 1)))(f_ext, pi)
    assert np.allclose(by_force, want.f_ext) and np.allclose(by_inertias, want.inertias)
    for torque in (tau, tau[0]):  # one for all has one cotangent, the sum
        found, want = floating.far.vjp("fd")(q, v, torque, a), floating.dyn.vjp("fd")(q, v, torque, a)
        assert type(found) is type(want) and found.tau.shape == torque.shape
        assert all(np.allclose(x, y) for x, y in zip(found, want, strict=True))


def test_vmap_of_arguments_of_unequal_rank(fixed):
    q, v, tau = fixed.q, fixed.v, fixed.tau
    unequal = jax.vmap(fixed.far.forward_dynamics)(q, np.stack([v] * len(q)), tau)  # of v a batch, else a state each
    assert np.array_equal(unequal, fixed.dyn.forward_dynamics(q[:, None], v, tau[:, None]))


def test_rollouts_and_scans(fixed):
    q, v, _ = fixed.one
    tau = 0.1 * np.ones((20, 3))
    loss = lambda tau: (far.rollout(q, v, tau, 0.01, last=True).q ** 2).sum()  # noqa: E731
    far = fixed.far
    found, end = jax.jit(jax.grad(loss))(tau), fixed.dyn.rollout(q, v, tau, 0.01, last=True)
    want = fixed.dyn.vjp("rollout")(q, v, tau, 0.01, 2 * end.q, 0 * end.v, last=True).tau
    assert np.allclose(found, want, rtol=1e-9)

    def scanned(tau):
        (x, _), _ = jax.lax.scan(
            lambda s, u: (tuple(far.step(*s, u, 0.01)), 0.0), (jnp.asarray(q), jnp.asarray(v)), tau
        )
        return (x**2).sum()

    assert np.allclose(jax.jit(jax.grad(scanned))(tau), want, rtol=1e-9)
    _, along = jax.jvp(loss, (jnp.asarray(tau),), (jnp.asarray(tau),))
    assert np.isclose(along, (want * tau).sum(), rtol=1e-9)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_quaternions_are_taken_as_given(floating, target):
    """By compiled code and by callbacks: padding of a batch may be anything."""
    far, q = wrap(floating.robot.compile(target, threads=1)), np.zeros_like(floating.q)
    assert np.isfinite(jax.jit(far.kinetic_energy)(q, floating.v)).all()


def test_torques_may_be_held(fixed):
    q, v, tau = fixed.q, fixed.v, fixed.tau
    bars = np.ones_like(v)
    want = fixed.dyn.rollout(q, v, tau, 0.01, steps=4, last=True)
    found = jax.jit(lambda *of: fixed.far.rollout(*of, 0.01, steps=4, last=True))(q, v, tau)
    assert all(np.allclose(x, y, rtol=1e-14) for x, y in zip(found, want, strict=True))
    loss = lambda tau: fixed.far.rollout(q, v, tau, 0.01, steps=4, last=True).v.sum()  # noqa: E731
    want = fixed.dyn.vjp("rollout")(q, v, tau, 0.01, 0 * bars, bars, steps=4, last=True).tau
    assert np.allclose(jax.jit(jax.grad(loss))(tau), want, rtol=1e-12)
    with pytest.warns(ShapeWarning, match=f"read as {len(tau)} time steps") as seen:
        assert fixed.far.rollout(q, v, tau, 0.01).q.shape == (len(q), len(tau), 3)
    assert seen[0].filename == __file__
    with pytest.raises(ShapeError, match="steps=T holds"):
        fixed.far.rollout(*(np.stack([x, x]) for x in (q, v, tau)), 0.01)
    with pytest.raises(UnsupportedError, match=r"steps=.*which jit and vmap do not trace"):
        jax.jit(lambda steps: fixed.far.rollout(q, v, tau, 0.01, steps=steps))(4)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_other_targets(fixed, target):
    far = wrap(fixed.robot.compile(target=target, threads=1))
    want = fixed.dyn.forward_dynamics(fixed.q, fixed.v, fixed.tau[0])
    assert np.allclose(jax.jit(far.forward_dynamics)(fixed.q, fixed.v, fixed.tau[0]), want)


def test_what_does_not_fit_is_said(fixed, monkeypatch):
    q, v, tau = fixed.one
    fd = fixed.far.forward_dynamics
    with pytest.raises(DTypeError, match=r'q is float32.*pass q.astype\(float64\), or compile\(dtype="float32"\)'):
        fd(q.astype(np.float32), v, tau)
    jax.config.update("jax_enable_x64", False)
    try:
        with pytest.raises(DTypeError, match=r'jax_enable_x64", True\).*or compile\(dtype="float32"\)'):
            fd(q, v, tau)
    finally:
        jax.config.update("jax_enable_x64", True)
    with pytest.raises(ShapeError, match=r"v has shape \(2,\), expected \(..., 3\)"):
        fd(q, v[:2], tau)
    with pytest.raises(ShapeError, match="do not broadcast"):
        fd(fixed.q[:2], fixed.v[:3], tau)
    with pytest.raises(TypeError, match="'tau' is missing"):
        fd(q, v)
    with pytest.raises(UnsupportedError, match="leave out= out"):
        fd(q, v, tau, out=tau)
    with pytest.raises(DTypeError, match="q is dict"):
        fd({}, v, tau)
    with pytest.raises(DTypeError, match=r"condyle\.interop\.jax\.wrap\(dyn\)\.forward_dynamics takes it"):
        jax.jit(lambda q: fixed.dyn.forward_dynamics(q, v, tau))(q)
    with pytest.raises(UnsupportedError, match="q_gradient='flat'"):
        wrap(fixed.dyn, q_gradient="flat")
    with pytest.raises(UnsupportedError, match=r"wrap\(Robot\)"):
        wrap(fixed.robot)
    with pytest.raises(UnsupportedError, match=r"then jax\.grad"):
        fixed.far.vjp("rollout")
    assert np.array_equal(fd([0, 0, 0], [0.0] * 3, np.zeros(3, int)), fixed.dyn.forward_dynamics(*np.zeros((3, 3))))
    monkeypatch.setattr(jax, "__version__", "0.4.30")
    with pytest.raises(UnsupportedError, match=r"JAX 0.4.30 is too old, 0.8 is needed"):
        wrap(fixed.dyn)
    monkeypatch.setitem(sys.modules, "jax", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'condyle\[jax\]'"):
        wrap(fixed.dyn)


def test_copies_and_pickles(fixed):
    want = fixed.far.forward_dynamics(*fixed.one)
    for far in (copy.deepcopy(fixed.far), pickle.loads(pickle.dumps(fixed.far))):
        assert np.array_equal(far.forward_dynamics(*fixed.one), want)


@pytest.mark.slow
def test_program_of_the_page_runs(tmp_path: Path) -> None:
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "jax.md"
    code = "".join(re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0 and code, done.stderr


def test_methods_name_functions_too():
    robot = condyle.chain(2, 0)
    far, (q, v) = wrap(robot.compile(target="numpy")), robot.random_state(3, 0)
    long, short = (far.vjp(name)(q, v, v, q) for name in ("forward_dynamics", "fd"))
    np.testing.assert_array_equal(long.q, short.q)
