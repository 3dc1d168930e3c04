"""links="scan" on a GPU: the whole call, what is serial, what is said."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.calls.gpu import GpuDynamics
from condyle.compile import routes
from condyle.errors import UnsupportedError
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.links import compiler
from tests.backends.cuda.fake_driver import FakeDriver
from tests.gpu.calls import on_gpu
from tests.laws.robots import states
from tests.test_links import massless

CLOSE = {"rtol": 1e-8, "atol": 1e-8}


@pytest.mark.slow
def test_from_anywhere(fake: FakeDriver) -> None:
    """From the processor's memory and on the GPU; with external forces too."""
    robot = condyle.chain(3, rng=2)
    dyn = robot.compile(target="cuda", links="scan")
    assert isinstance(dyn, GpuDynamics)
    some = states(robot, 11)
    want = robot.compile(target="numpy").forward_dynamics(some.q, some.v, some.a)
    np.testing.assert_allclose(dyn.forward_dynamics(some.q, some.v, some.a), want, **CLOSE)
    got = dyn.forward_dynamics(*(on_gpu(fake, array) for array in (some.q, some.v, some.a)))
    np.testing.assert_allclose(got.numpy(), want, **CLOSE)
    loaded = fake.calls.count("cuModuleLoadData")
    dyn.on(7).forward_dynamics(*(on_gpu(fake, array) for array in (some.q, some.v, some.a)))
    assert fake.calls.count("cuModuleLoadData") == loaded  # a stream is no reason to build kernels again
    forced = robot.compile(target="numpy").forward_dynamics(some.q, some.v, some.a, some.f_ext)
    np.testing.assert_allclose(dyn.forward_dynamics(some.q, some.v, some.a, some.f_ext), forced, **CLOSE)
    assert fake.calls.count("cuModuleLoadData") > loaded
    lines = {line.split()[0]: line for line in dyn.explain().splitlines()[1:]}
    assert "segments" in lines["fd"]
    assert all("by scans" in lines[name] for name in ("id", "m", "minv", "did", "dfd", "difd"))
    assert "segments" not in robot.compile(target="cuda", links="auto").explain()


@pytest.mark.slow
def test_dynamics_of_a_tree(fake: FakeDriver) -> None:
    """Several joint types, outer forces, more links than a warp has lanes."""
    robot = condyle.random_tree(34, rng=4, types=("revolute", "universal"), floating_base=True)
    dyn = robot.compile(target="cuda", links="scan", dtype="float64")
    some = states(robot, 2)
    for forces in ((), (some.f_ext,)):
        for method in ("inverse_dynamics", "forward_dynamics"):
            want = getattr(robot.compile(target="numpy"), method)(some.q, some.v, some.a, *forces)
            got = getattr(dyn, method)(some.q, some.v, some.a, *forces)
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * np.abs(want).max())


@pytest.mark.slow
def test_every_function(fake: FakeDriver) -> None:
    """Matrices too, and what they take of a GPU's memory: two states of which the launches hand on records."""
    robot = condyle.random_tree(3, rng=4, types=("revolute", "spherical"))
    dyn, reference = robot.compile(target="cuda", links="scan"), robot.compile(target="numpy")
    some, nv = states(robot, 2), robot.nv
    known = {"q": some.q, "v": some.v, "a": some.a, "tau": some.a, "Minv": reference.mass_matrix_inverse(some.q)}
    for name in DEFAULT:
        inputs = [known[port.name] for port in FUNCTIONS[name].inputs]
        for got, want in zip(dyn.call(name, inputs), reference.call(name, inputs), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-8, atol=1e-8 * np.abs(want).max())
    assert sum("by scans" in line for line in dyn.explain().splitlines()) == len(DEFAULT)
    assert dyn.memory(2)["dfd"] > 2 * 8 * (robot.nq + 2 * nv + 3 * nv * nv + 49 * nv)
    assert dyn.memory(2)["id"] == 2 * 8 * (robot.nq + 3 * nv)


def test_too_many_links_are_serial(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiler, "LONGEST_CHAIN", 2)
    monkeypatch.setattr(compiler, "MOST", 2)
    two, three = (condyle.chain(n, rng=1).compile(target="cuda", links="scan").explain() for n in (2, 3))
    assert sum(word in line for line in two.splitlines() for word in ("in segments", "by scans")) == len(DEFAULT)
    assert sum(word in three for word in ("in segments", "by scans")) == 0
    some = states(condyle.chain(3, rng=1), 2)
    want = condyle.chain(3, rng=1).compile(target="numpy").inverse_dynamics(some.q, some.v, some.a)
    got = condyle.chain(3, rng=1).compile(target="cuda", links="scan").inverse_dynamics(some.q, some.v, some.a)
    np.testing.assert_allclose(got, want, **CLOSE)


def test_auto_scans_what_has_no_other_kernel(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(routes, "LONGEST", 100)
    robot = condyle.chain(3, rng=2)
    some = states(robot, 2)
    with pytest.raises(UnsupportedError, match="links='scan'"):
        robot.compile(target="cuda").forward_dynamics(some.q, some.v, some.a)
    auto = robot.compile(target="cuda", links="auto")
    want = robot.compile(target="numpy").forward_dynamics(some.q, some.v, some.a)
    np.testing.assert_allclose(auto.forward_dynamics(some.q, some.v, some.a), want, **CLOSE)
    assert "segments" in auto.explain()


def test_auto_scans_what_needs_no_elements_where_there_are_none(
    fake: FakeDriver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A massless link is in the way of forward dynamics, not of inverse dynamics."""
    monkeypatch.setattr(routes, "LONGEST", 1)
    robot = massless()
    auto = robot.compile(target="cuda", links="auto")
    scans = [line.split()[0] for line in auto.explain().splitlines() if "scans" in line]
    assert scans == ["id", "m", "did", "difd"]
    state = [0.3, 0.4], [0.5, -0.6], [0.7, 0.8]
    want = robot.compile(target="numpy").inverse_dynamics(*state)
    np.testing.assert_allclose(auto.inverse_dynamics(*state), want, **CLOSE)
    with pytest.raises(UnsupportedError, match="too long"):
        auto.forward_dynamics(*state)
    with pytest.raises(UnsupportedError, match=r"'bare'.*'wrist'.*armature"):
        robot.compile(target="cuda", links="scan").forward_dynamics(*state)
