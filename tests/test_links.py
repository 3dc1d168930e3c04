"""links="scan": the same methods, the same answers, and errors that say what to do.

Errors allowed are four to ten times those that were reached.
"""

from __future__ import annotations

import pickle
import time

import numpy as np
import pytest

import condyle
from condyle.backends.cpu import build as cpu_target
from condyle.backends.cpu.target import ISAS
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.links import compiler as scanned
from tests.forces import function_with
from tests.laws.robots import relative, robot_named, states
from tests.processor import slow


@pytest.fixture(scope="module")
def robot() -> condyle.Robot:
    return condyle.chain(9, rng=2)


@pytest.mark.parametrize("function", DEFAULT)
def test_every_method(robot: condyle.Robot, function: str) -> None:
    parallel = robot.compile(target="numpy", links="scan")
    serial = robot.compile(target="numpy")
    some = states(robot, 4)
    known = {"q": some.q, "v": some.v, "a": some.a, "tau": some.a, "Minv": serial.mass_matrix_inverse(some.q)}
    inputs = [known[port.name].reshape(2, 2, *known[port.name].shape[1:]) for port in FUNCTIONS[function].inputs]
    got = parallel.call(function, inputs)
    for one, two in zip(got, serial.call(function, inputs), strict=True):
        assert one.shape == two.shape
        assert relative(one.reshape(4, -1), two.reshape(4, -1)) < 1e-13


def test_one_state_for_many_forces(robot: condyle.Robot) -> None:
    dyn = robot.compile(target="numpy", links="scan")
    some = states(robot, 3)
    got = dyn.forward_dynamics(some.q[0], some.v[0], some.a)
    assert got.shape == (3, 9)
    assert relative(got, robot.compile(target="numpy").forward_dynamics(some.q[0], some.v[0], some.a)) < 1e-14
    assert dyn.mass_matrix(some.q[:0]).shape == (0, 9, 9)


@pytest.mark.smoke
@pytest.mark.parametrize("route", ["elements", "abia", "jsiia"])
def test_routes_by_name(robot: condyle.Robot, route: str) -> None:
    dyn = robot.compile(target="numpy", links="scan", routes={"fd": route, "id": "rnea"})
    some = states(robot, 2)
    assert relative(dyn.inverse_dynamics(some.q, some.v, dyn.forward_dynamics(some.q, some.v, some.a)), some.a) < 1e-13
    lines = dyn.explain().splitlines()
    assert any(line.split()[:2] == ["fd", route] and "scans" in line for line in lines)
    assert any(line.split()[:2] == ["id", "rnea"] and "scans" not in line for line in lines)


def test_a_pickle_scans_too(robot: condyle.Robot) -> None:
    dyn = pickle.loads(pickle.dumps(robot.compile(target="numpy", links="scan", dtype="float32")))
    assert dyn.dtype == np.float32
    assert "by scans" in dyn.explain()


def test_a_route_that_is_not_there(robot: condyle.Robot) -> None:
    with pytest.raises(condyle.UnsupportedError, match="no route 'sideways'"):
        robot.compile(target="numpy", links="scan", routes={"fd": "sideways"})
    with pytest.raises(condyle.UnsupportedError, match="links='up'"):
        robot.compile(links="up")


def test_mimic_joints_are_refused_with_the_way_out() -> None:
    with pytest.raises(condyle.UnsupportedError, match="mimic='independent'"):
        robot_named("zoo").compile(target="numpy", links="scan")


def massless(armature: float = 0.0) -> condyle.Robot:
    builder = condyle.Builder().body("bare", mass=0.0).body("tool", mass=1.0, com=(0.1, 0.0, 0.1))
    builder.joint("wrist", parent="world", child="bare", type="revolute", armature=armature)
    builder.joint("flange", parent="bare", child="tool", type="revolute", axis=(0, 1, 0), xyz=(0.2, 0.0, 0.0))
    with pytest.warns(condyle.ModelWarning):
        return builder.build()


def test_a_massless_link_is_refused_by_name_where_it_has_to_be_an_element() -> None:
    robot = massless()
    dyn = robot.compile(target="numpy", links="scan")
    q, v, tau = np.array([0.3, 0.4]), np.array([0.5, -0.6]), np.array([0.7, 0.8])
    with pytest.raises(condyle.UnsupportedError, match=r"'bare'.*'wrist'.*armature.*lock.*links='serial'"):
        dyn.forward_dynamics(q, v, tau)
    with pytest.raises(condyle.UnsupportedError, match="wrist"):
        dyn.mass_matrix_inverse(q)
    want = robot.compile(target="numpy").forward_dynamics(q, v, tau)
    for route in ("abia", "jsiia"):
        other = robot.compile(target="numpy", links="scan", routes={"fd": route})
        assert np.allclose(other.forward_dynamics(q, v, tau), want, rtol=1e-12, atol=0)
    assert np.isfinite(dyn.inverse_dynamics(q, v, tau)).all()
    assert np.isfinite(massless(0.1).compile(target="numpy", links="scan").forward_dynamics(q, v, tau)).all()


needs_machine = pytest.mark.skipif(not cpu_target.supported(), reason="needs an x86-64 processor with AVX2 and FMA")


@needs_machine
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_segments_on_the_processor(dtype: str) -> None:
    robot = condyle.chain(6, rng=4)
    dyn = robot.compile(links="scan", dtype=dtype)
    some = states(robot, 5)
    q, v, a = (x.astype(dtype) for x in (some.q, some.v, 0.1 * some.a))
    want = robot.compile(target="numpy").forward_dynamics(*(x.astype(np.float64) for x in (q, v, a)))
    assert relative(dyn.forward_dynamics(q, v, a), want) < (1e-11 if dtype == "float64" else 3e-6)
    assert np.array_equal(dyn.forward_dynamics(q[2], v[2], a[2]), dyn.forward_dynamics(q, v, a)[2])
    lines = dyn.explain().splitlines()
    assert [line.split()[0] for line in lines if "in segments" in line] == ["id", "fd"]  # the rest is serial


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cpu", slow("numpy")])
def test_what_runs_for_a_long_chain_is_known_at_once(target: str) -> None:
    dyn = condyle.chain(2000, rng=4).compile(links="auto", target=target)
    start = time.process_time()
    lines = dyn.explain().splitlines()[1:]
    assert time.process_time() - start < 10.0  # not counted: counting takes half a minute, and sanitizers slow it down
    assert sum("rolled" in line and "loops over 2000 links" in line for line in lines) >= 5


@needs_machine
def test_what_the_processor_cannot_scan_runs_serially() -> None:
    tree = condyle.random_tree(6, rng=1)
    some = states(tree, 2)
    dyn = tree.compile(links="scan")
    assert "segments" not in dyn.explain()
    want = tree.compile(target="numpy").forward_dynamics(some.q, some.v, some.a)
    assert relative(dyn.forward_dynamics(some.q, some.v, some.a), want) < 1e-14
    chain = condyle.chain(5, rng=1)
    named = chain.compile(links="scan", routes={"id": "sums"})  # a scan that NumPy has
    assert "sums" not in named.explain()
    some = states(chain, 2)
    want = chain.compile(target="numpy").inverse_dynamics(some.q, some.v, some.a)
    assert relative(named.inverse_dynamics(some.q, some.v, some.a), want) < 1e-14


@needs_machine
def test_segments_take_outer_forces_and_a_floating_base() -> None:
    robot = condyle.load("iiwa14", floating_base=True)
    some = states(robot, 3)
    scan, serial = robot.compile(links="scan"), robot.compile(target="numpy")
    for method in ("forward_dynamics", "inverse_dynamics"):
        arguments = (some.q, some.v, some.a, some.f_ext)
        want = getattr(serial, method)(*arguments)
        assert relative(getattr(scan, method)(*arguments), want) < 2e-14
        assert "segments" in scan.kernel(function_with(method)).description


def test_the_c_target_has_no_scans(robot: condyle.Robot) -> None:
    with pytest.raises(condyle.UnsupportedError, match="'cpu', 'cuda' and 'numpy'"):
        robot.compile(target="c", links="scan")


def test_every_crossover_is_of_a_scan_that_is_there() -> None:
    for (target, isa, dtype, function), crossover in scanned.crossovers().items():
        assert target in ("cpu", "numpy")
        assert isa in (ISAS if target == "cpu" else ("",))
        assert dtype in ("float64", "float32")
        assert function.name in (("fd", "id") if target == "cpu" else DEFAULT)
        assert crossover.links > 1 and crossover.states >= 1


def test_auto_takes_what_was_measured_to_be_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    table = {("numpy", "", "float64", FUNCTIONS["fd"]): scanned.Crossover(4, 2)}
    monkeypatch.setattr(scanned, "crossovers", lambda: table)
    for n, batch, scans in ((4, 2, True), (4, 3, False), (3, 1, False)):
        robot = condyle.chain(n, rng=1)
        dyn = robot.compile(target="numpy", links="auto")
        assert ("scans" in dyn.explain(batch)) == scans
        some = states(robot, batch)
        want = robot.compile(target="numpy").forward_dynamics(some.q, some.v, some.a)
        assert relative(dyn.forward_dynamics(some.q, some.v, some.a), want) < 1e-14
    assert "scans" not in robot_named("zoo").compile(target="numpy", links="auto").explain()
    massless().compile(target="numpy", links="auto").forward_dynamics([0.3, 0.4], [0.5, -0.6], [0.7, 0.8])


@pytest.mark.slow
@needs_machine
def test_auto_scans_one_state_of_a_long_chain_on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    isa = cpu_target.supported()[0].name
    monkeypatch.setattr(
        scanned, "crossovers", lambda: {("cpu", isa, "float64", FUNCTIONS["fd"]): scanned.Crossover(6, 1)}
    )
    robot = condyle.chain(6, rng=1)
    some = states(robot, 3)
    auto, scan, serial = (robot.compile(links=links) for links in ("auto", "scan", "serial"))
    one = [x[0] for x in (some.q, some.v, some.a)]
    assert np.array_equal(auto.forward_dynamics(*one), scan.forward_dynamics(*one))
    many = (some.q, some.v, some.a)
    assert np.array_equal(auto.forward_dynamics(*many), serial.forward_dynamics(*many))
    assert "segments" in auto.explain(1)
    assert "segments" not in auto.explain(3)
