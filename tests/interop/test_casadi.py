"""casadi.Functions of a robot: values, Jacobians, Hessians, and exports that CasADi loads."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import product
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.backends.casadi import source
from condyle.backends.common.chunks import Cut
from condyle.errors import BuildError, DTypeError, UnsupportedError

ca = pytest.importorskip("casadi")
from condyle.interop import casadi as ours  # noqa: E402
from condyle.interop.casadi import wrap  # noqa: E402
from tests.processor import slow  # noqa: E402
from tests.programs import skip_without  # noqa: E402

loaded = ours._loaded


def two_links():
    """A small arm."""
    return condyle.chain(3, rng=1)


def jacobian(F, *args):
    """Jacobian by all inputs, without a Hessian."""
    x = [ca.MX.sym(f"x{k}", F.size1_in(k)) for k in range(F.n_in())]
    y = F(*x)
    y = ca.veccat(*y) if isinstance(y, tuple) else y
    return np.array(ca.Function("first", x, [ca.jacobian(y, ca.vertcat(*x))])(*args))


def derivatives(F, *args):
    """Jacobian and Hessian of lam . F by all inputs, as CasADi makes them in a graph of MX; lam is 1, 2, ..."""
    x = [ca.MX.sym(f"x{k}", F.size1_in(k)) for k in range(F.n_in())]
    y = F(*x)
    y = ca.veccat(*y) if isinstance(y, tuple) else y
    z, lam = ca.vertcat(*x), np.arange(1.0, y.numel() + 1)
    found = ca.Function("both", x, [ca.jacobian(y, z), ca.hessian(ca.dot(lam, y), z)[0]])(*args)
    return [np.array(one) for one in found], lam


def test_values_and_derivatives_are_those_of_the_dynamics():
    robot = two_links()
    dyn = robot.compile(target="numpy")
    q, v = robot.random_state(1, 3)
    q, v, tau = q[0], v[0], np.array([0.3, -1.0, 2.0])
    F = wrap(dyn).forward_dynamics
    np.testing.assert_allclose(np.array(F(q, v, tau)).ravel(), dyn.forward_dynamics(q, v, tau), rtol=1e-9)
    (J, H), lam = derivatives(F, q, v, tau)
    np.testing.assert_allclose(J, np.hstack(dyn.jacobian("fd")(q, v, tau)), rtol=1e-9, atol=1e-9 * np.abs(J).max())
    np.testing.assert_allclose(H, dyn.hessian("fd")(q, v, tau, lam), rtol=1e-9, atol=1e-9 * np.abs(H).max())


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, "free") for name in ("forward_dynamics", "potential_energy", "frame_placements", "user")),
        *((name, "planar") for name in ("frame_placements", "step", "user")),
        slow("step", "free"),
    ],
)
def test_curved_joints_have_ambient_derivatives(name, kind):
    robot = (
        condyle.Builder(gravity=(0.3, -9.0, -2.0))
        .body("a", mass=1.0, com=(0.1, 0, 0.2), inertia=np.diag([0.1, 0.2, 0.25]))
        .joint("j", parent="world", child="a", type=kind, axis=(0, 0, 1) if kind == "planar" else None)
    )
    robot = robot.build()

    def user(at, tau):
        return np.concatenate([at.q * tau[0], at.potential_energy() * at.v])

    if name == "user":
        F = wrap(robot.function(user, {"q": "nq", "v": "nv", "tau": "nv"}).compile(target="numpy"))
    else:
        F = getattr(wrap(robot.compile(target="numpy", frames=(next(reversed(robot.frames)),))), name)
    rng = np.random.default_rng(2)
    q, v = robot.random_state(1, 0)
    args = [q[0], v[0], rng.normal(size=robot.nv), 0.1][: F.n_in()]
    J = jacobian(F, *args)

    def moved(by):
        return np.split(np.concatenate([np.ravel(a) for a in args]) + by, np.cumsum([np.size(a) for a in args])[:-1])

    def value(by):
        found = F(*moved(by))
        return np.concatenate([np.array(x).ravel(order="F") for x in (found if isinstance(found, tuple) else (found,))])

    n = J.shape[1]
    e = 1e-6 * np.eye(n)
    np.testing.assert_allclose(J, np.stack([(value(d) - value(-d)) / 2e-6 for d in e], -1), atol=1e-6)
    (_, H), lam = derivatives(F, *args)
    slopes = [(lam @ derivatives(F, *moved(d))[0][0] - lam @ derivatives(F, *moved(-d))[0][0]) / 2e-6 for d in e]
    np.testing.assert_allclose(H, np.array(slopes), atol=1e-4)


def test_a_users_function_is_one_function():
    robot = two_links()

    def reach(at, u):
        return {"cost": (at.q @ at.q) * (u**2).sum(), "a": at.forward_dynamics(u)}

    f = robot.function(reach, {"q": "nq", "v": "nv", "u": 3}).compile(target="numpy")
    F = wrap(f)
    q, v = robot.random_state(1, 3)
    u = np.array([1.0, 2.0, 3.0])
    for got, want in zip(F(q[0], v[0], u), f(q[0], v[0], u), strict=True):
        np.testing.assert_allclose(np.array(got).ravel(), np.ravel(want), rtol=1e-9)


@pytest.mark.slow
def test_export_is_one_file_that_external_loads(tmp_path):
    robot = two_links()
    frame = list(robot.frames)[-1]
    condyle.export(robot, "casadi", tmp_path, ("fd", "step", "fk", "m"), name="arm", frames=(frame,))
    skip_without("cc")
    flags = ["-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["cc", *flags, "arm.c", "-o", "arm.so", "-lm"], cwd=tmp_path, check=True)
    dyn = robot.compile(target="numpy", frames=(frame,))
    q, v = robot.random_state(1, 5)
    q, v, tau = q[0], v[0], np.ones(3)
    F = {name: ca.external(f"arm_{name}", str(tmp_path / "arm.so")) for name in ("fd", "step", "fk", "m")}
    np.testing.assert_allclose(np.array(F["fd"](q, v, tau)).ravel(), dyn.forward_dynamics(q, v, tau), rtol=1e-9)
    for got, want in zip(F["step"](q, v, tau, 0.1), dyn.step(q, v, tau, 0.1), strict=True):
        np.testing.assert_allclose(np.array(got).ravel(), want, rtol=1e-9)
    rotation, translation = F["fk"](q)
    np.testing.assert_allclose(np.array(rotation), dyn.frame_placements(q).rotation[0], atol=1e-12)
    np.testing.assert_allclose(np.array(translation).ravel(), dyn.frame_placements(q).translation[0], atol=1e-12)
    np.testing.assert_allclose(np.array(F["m"](q)), dyn.mass_matrix(q), rtol=1e-10)


def test_ipopt_takes_the_iterations_of_symbolic_dynamics():
    """A pendulum: its dynamics by CasADi's own symbols, and ours."""
    robot = condyle.Builder().body("a", mass=2.0, com=(0, 0, -0.5), inertia=np.diag([0.3, 0.3, 0.1]))
    robot = robot.joint("j", parent="world", child="a", type="revolute", axis=(0, 1, 0)).build()
    ours = wrap(robot.compile(target="numpy")).forward_dynamics
    q, v, u = (ca.SX.sym(name) for name in "qvu")
    moment = float(robot.compile(target="numpy").mass_matrix([0.0])[0, 0])
    own = ca.Function("own", [q, v, u], [(u - 2.0 * 9.81 * 0.5 * ca.sin(q)) / moment])
    counts, costs = [], []
    for fd in (ours, own):
        opti = ca.Opti()
        X, U, h = opti.variable(2, 21), opti.variable(1, 20), 0.05
        for k in range(20):
            a = fd(X[0, k], X[1, k], U[k])
            opti.subject_to(X[:, k + 1] == X[:, k] + h * ca.vertcat(X[1, k] + h * a, a))
        opti.subject_to(X[:, 0] == 0)
        opti.subject_to(opti.bounded(-9, U, 9))
        opti.minimize(h * (ca.sumsqr(X[0, :] - 3.0) + 1e-2 * ca.sumsqr(U)))
        opti.solver("ipopt", {"print_time": False}, {"print_level": 0, "sb": "yes"})
        found = opti.solve()
        counts.append(opti.stats()["iter_count"])
        costs.append(found.value(opti.f))
    assert counts[0] == counts[1]
    np.testing.assert_allclose(*costs, rtol=1e-8)


def test_map_takes_a_column_a_state():
    robot = two_links()
    dyn = robot.compile(target="numpy")
    q, v = robot.random_state(4, 3)
    a = np.array(wrap(dyn).forward_dynamics.map(4)(q.T, v.T, np.ones((3, 4))))
    np.testing.assert_allclose(a.T, dyn.forward_dynamics(q, v, np.ones((4, 3))), rtol=1e-9)


def test_what_is_refused():
    robot = two_links()
    with pytest.raises(DTypeError, match="float64"):
        wrap(robot.compile(target="numpy", dtype="float32"))
    with pytest.raises(UnsupportedError, match="compile"):
        wrap(robot)
    with pytest.raises(UnsupportedError, match="ambient"):
        wrap(robot.compile(target="numpy"), q_gradient="other")
    with pytest.raises(AttributeError, match="forward_dynamics"):
        _ = wrap(robot.compile(target="numpy")).forwards


@pytest.mark.slow
def test_a_map_of_steps_is_differentiated_twice():
    robot = two_links()
    F = wrap(robot.compile(target="numpy")).step
    q, v, tau = (ca.MX.sym(name, 3, 2) for name in ("q", "v", "tau"))
    after = ca.vertcat(*F.map(2)(q, v, tau, ca.DM.ones(1, 2) * 0.1))
    H = ca.Function("H", [q, v, tau], [ca.hessian(ca.sumsqr(after), ca.vec(q))[0]])(1, 2, 3)
    assert np.isfinite(np.array(H)).all()
    assert np.abs(np.array(H)).max() > 0


@pytest.mark.slow
def test_numbers_and_routes_are_those_of_compile():
    robot = two_links()
    dyn = robot.compile(target="numpy", inputs=("gravity", "inertias"), routes={"fd": "aba"})
    F = wrap(dyn).forward_dynamics
    q, v = robot.random_state(1, 3)
    q, v, tau, g, heavier = q[0], v[0], np.ones(3), np.array([1.0, 2.0, 3.0]), 1.1 * robot.inertias
    np.testing.assert_allclose(
        np.array(F(q, v, tau, heavier, g)).ravel(),
        dyn.forward_dynamics(q, v, tau, inertias=heavier, gravity=g),
        rtol=1e-9,
    )
    found = [np.array(block) for block in F.jacobian()(q, v, tau, heavier, g, 0)]
    want = dyn.jacobian("fd")(q, v, tau, inertias=heavier, gravity=g)
    np.testing.assert_allclose(found[3].reshape(3, 10, 3).transpose(0, 2, 1), want.da_dinertias, atol=1e-8)
    np.testing.assert_allclose(found[4], want.da_dgravity, atol=1e-9)


def test_derivatives_of_a_step_take_numbers_too():
    """Their Jacobian by gravity is that of differences."""
    dyn = condyle.chain(1, 0).compile(target="numpy", inputs=("gravity",))
    F, g, step = wrap(dyn).step_derivatives, np.array([1.0, 2.0, 3.0]), 1e-5 * np.eye(3)
    np.testing.assert_allclose(
        np.array(F(0.3, 0.2, 1.0, 0.1, g)[0]), dyn.step_derivatives([0.3], [0.2], [1.0], 0.1, gravity=g).A
    )
    A = lambda g: np.array(F(0.3, 0.2, 1.0, 0.1, g)[0]).ravel(order="F")  # noqa: E731
    found = np.array(F.jacobian()(0.3, 0.2, 1.0, 0.1, g, 0, 0)[4])
    want = np.stack([(A(g + e) - A(g - e)) / 2e-5 for e in step], axis=1)
    assert np.abs(want).max() > 0.01
    np.testing.assert_allclose(found, want, atol=1e-9)


@pytest.mark.slow
def test_numbers_of_a_robot_with_quaternions():
    robot = condyle.random_tree(1, 1, types=("revolute",), floating_base=True)
    dyn = robot.compile(target="numpy", inputs=("gravity", "inertias"))
    F = wrap(dyn).forward_dynamics
    q, v = robot.random_state(1, 3)
    q, v, tau, g, heavier = q[0], v[0], np.ones(robot.nv), np.array([1.0, 2.0, 3.0]), 1.1 * robot.inertias
    want = dyn.forward_dynamics(q, v, tau, inertias=heavier, gravity=g)
    np.testing.assert_allclose(np.array(F(q, v, tau, heavier, g)).ravel(), want, rtol=1e-9)
    found = [np.array(block) for block in F.jacobian()(q, v, tau, heavier, g, 0)]
    want = dyn.jacobian("fd")(q, v, tau, inertias=heavier, gravity=g)
    by_inertias = found[3].reshape(robot.nv, 10, len(robot.bodies)).transpose(0, 2, 1)
    np.testing.assert_allclose(by_inertias, want.da_dinertias, atol=1e-9)
    np.testing.assert_allclose(found[4], want.da_dgravity, atol=1e-9)


@pytest.mark.slow
def test_long_functions_are_several_in_c(monkeypatch):
    """The same numbers to the bit, answers that are constants and inputs among them."""

    def reach(at, u):
        return {"cost": (at.q @ at.q) * (u**2).sum(), "u": np.concatenate([u, [1.0, 2.0]]), "a": at.forward_dynamics(u)}

    robot = two_links()
    q, v = robot.random_state(1, 3)
    args, found = [q[0], v[0], np.array([0.3, -1.0, 2.0])], []
    monkeypatch.setattr("condyle.backends.casadi.source.CUT", Cut(20, 40))
    for longest in (40, 1 << 30):
        monkeypatch.setattr("condyle.backends.casadi.source.LONGEST", longest)
        text = []
        monkeypatch.setattr(ours, "_loaded", lambda *given: (text.append(given[1]), loaded(*given))[1])
        F = wrap(robot.function(reach, {"q": "nq", "v": "nv", "u": 3}).compile(target="numpy"))
        assert (text[0].count("static void robot_user") > 4) == (longest == 40)
        found.append([*map(np.array, F(*args)), *derivatives(F, *args)[0]])
    assert all(np.array_equal(x, y) for x, y in zip(*found, strict=True))


@pytest.mark.slow
def test_a_quadruped_is_compiled_in_seconds():
    """One C function took more than 150 s; the functions it is cut into take some 11 s of a processor."""
    robot = condyle.load("hyq", floating_base=True)
    dyn = robot.compile(threads=1)
    q, v = robot.random_state(1, 0)
    args = q[0], v[0], 0.1 * v[0]
    F = wrap(dyn).forward_dynamics
    np.testing.assert_allclose(np.array(F(*args)).ravel(), dyn.forward_dynamics(*args), rtol=1e-8)
    by_v, by_tau = (np.array(F.jacobian()(*args, 0)[k]) for k in (1, 2))
    want = dyn.jacobian("fd")(*args)
    np.testing.assert_allclose(by_v, want.da_dv, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(by_tau, want.da_dtau, rtol=1e-7, atol=1e-8)


def test_a_users_function_is_exported(tmp_path):
    def reach(at, u):
        return at.q @ u

    skip_without("cc")
    robot = two_links()
    made = robot.function(reach, {"q": "nq", "u": 3})
    made.export("casadi", tmp_path, name="arm")
    subprocess.run(["cc", "-shared", "-fPIC", "arm.c", "-o", "arm.so", "-lm"], cwd=tmp_path, check=True)
    F = ca.external("arm_reach", str(tmp_path / "arm.so"))
    q, u = np.array([1.0, 2.0, 3.0]), np.array([3.0, 5.0, 7.0])
    assert float(F(q, u)) == q @ u
    np.testing.assert_array_equal(derivatives(F, q, u)[0][1], np.kron([[0, 1], [1, 0]], np.eye(3)))
    for options in ({"derivatives": ("vjp",)}, {"rollout": {}}):
        with pytest.raises(UnsupportedError, match="casadi"):
            made.export("casadi", tmp_path, name="arm", **options)
    ball = condyle.random_tree(1, 0, floating_base=True)
    with pytest.raises(UnsupportedError, match=r"wrap\(f"):
        ball.function(reach, {"q": "nq", "u": ball.nq}).export("casadi", tmp_path, name="ball")
    for name, message in (("rollout", "mapaccum"), ("vjp_fd", "itself"), ("nope", "nope")):
        with pytest.raises(UnsupportedError, match=message):
            wrap(robot.compile(target="numpy")).function(name)
    with pytest.raises(UnsupportedError, match="mapaccum"):
        _ = wrap(robot.compile(target="numpy")).rollout


def test_program_of_the_page_runs(tmp_path):
    page = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "casadi.md"
    (code,) = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.MULTILINE | re.DOTALL)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


KINKS = (-np.inf, -1.5, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 1.5, 2.5, np.inf, np.nan)


def test_kinks_infinite_numbers_and_nan_are_those_of_numpy():
    """Both sides of every kink, the kink itself, NaN as either argument: no rounding, so no tolerance."""

    def kinks(at, x, y):
        return {
            "min": np.minimum(x, y),
            "max": np.maximum(x, y),
            "at_least": np.where(x >= y, x, 3.0 - y),
            "above": np.where(x > y, x, 3.0 - y),
            "clip": np.clip(x, -1.0, y),
            "abs": np.abs(x),
            "floor": np.floor(x),
            "rint": np.rint(x),
            "sign": np.sign(x),
        }

    f = condyle.chain(1).function(kinks, {"q": "nq", "x": 1, "y": 1}).compile(target="numpy")
    F = wrap(f)
    for x, y in product(KINKS, KINKS):
        want = f(np.zeros(1), [x], [y])
        np.testing.assert_array_equal(want.min, np.minimum(x, y))
        for name, got, one in zip(want._fields, F(np.zeros(1), x, y), want, strict=True):
            np.testing.assert_array_equal(np.array(got).ravel(), np.ravel(one), err_msg=f"{name} of {x}, {y}")


def test_an_export_is_c_and_cpp(tmp_path):
    skip_without("g++")
    condyle.export(condyle.chain(1), "casadi", tmp_path, ("id",), name="arm")
    for language in ("c", "c++"):
        flags = ["-x", language, "-fsyntax-only", "-Wall", "-Wextra", "-Werror"]
        subprocess.run(["g++", *flags, "arm.c"], cwd=tmp_path, check=True)


def test_an_operation_without_a_word_in_c_is_named(monkeypatch):
    monkeypatch.delitem(source.FORMS, "sin")
    with pytest.raises(UnsupportedError, match="target 'casadi': the operation 'sin' has no word in C"):
        wrap(condyle.chain(2, rng=3).compile(target="numpy")).inverse_dynamics(np.zeros(2), np.zeros(2), np.zeros(2))


def test_what_a_copy_asks_for_is_no_function():
    bare = object.__new__(ours.Functions)
    with pytest.raises(AttributeError, match=r"^__deepcopy__$"):
        _ = bare.__deepcopy__
    with pytest.raises(UnsupportedError, match=r"^rollout: take step\.mapaccum\(T\) of what `wrap` answers$"):
        _ = bare.rollout


def test_a_library_that_casadi_does_not_load_is_a_build_error(monkeypatch):
    class Refuses:
        def external(self, name, path):
            raise RuntimeError(f"{name} is not there")

    monkeypatch.setattr(ours.cache, "fetch", lambda *_: b"no library")
    with pytest.raises(BuildError, match="cannot be loaded: robot_x is not there; robot_x is not there"):
        ours._loaded(Refuses(), "", "robot_x")
