"""Users' functions: compiled answers are those of the same Python on numbers; derivatives are those of differences."""

from __future__ import annotations

import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.derivatives import vjp
from condyle.functions import FUNCTIONS, function_or_none
from condyle.specification.ports import CONTROLS
from condyle.user import CompiledFunction, UserFunction
from condyle.user.state import HELD
from condyle.user.traced import renamed

TIP = "iiwa_link_7"
GOAL = np.array([0.4, 0.1, 0.6])


def reach(at: Any, u: Any) -> dict[str, Any]:
    tip = at.frame(TIP).translation
    return {"cost": ((tip - GOAL) ** 2).sum() + 1e-3 * (u**2).sum(), "tip": tip}


@pytest.fixture(scope="module")
def arm() -> condyle.Robot:
    return condyle.load("iiwa14")


@pytest.fixture(scope="module")
def small() -> condyle.Robot:
    return condyle.random_tree(4, 3, types=("revolute", "spherical", "prismatic"), floating_base=False)


@pytest.fixture(scope="module")
def reached(arm: condyle.Robot) -> UserFunction:
    return arm.function(reach, inputs={"q": "nq", "v": "nv", "u": 7})


@pytest.fixture(scope="module")
def compiled(reached: UserFunction) -> CompiledFunction:
    return reached.compile()


def states(robot: condyle.Robot, n: int = 5) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v = robot.random_state(n, 0)
    return q, v, np.random.default_rng(1).normal(size=(n, robot.nv))


@pytest.mark.parametrize("target", ["numpy", "cpu", pytest.param("c", marks=pytest.mark.slow)])
def test_answers_are_the_references(arm: condyle.Robot, reached: UserFunction, target: str) -> None:
    given, f = states(arm), reached.compile(target=target)
    expected, found = reached.reference(*given), f(*given)
    assert found._fields == expected._fields == ("cost", "tip")
    assert found.cost.shape == (5,) and found.tip.shape == (5, 3)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, 1e-13)
    single = reached.compile(target=target, dtype="float32")
    low = single(*(x.astype(np.float32) for x in given))
    assert low.cost.dtype == np.float32
    np.testing.assert_allclose(low.cost, expected.cost, 2e-5)


def test_calls_are_those_of_dynamics(arm: condyle.Robot, compiled: CompiledFunction, reached: UserFunction) -> None:
    q, v, u = states(arm)
    found = compiled(q, v, u)
    assert np.array_equal(compiled(q=q, v=v, u=u).tip, found.tip) and np.array_equal(compiled(q, v, u=u).tip, found.tip)
    out = (np.empty(5), np.empty((5, 3)))
    assert compiled(q, v, u, out=out).cost is out[0] and np.array_equal(out[1], found.tip)
    one = compiled(q[0], v[0], u[0])
    assert one.cost.shape == () and np.array_equal(one.tip, found.tip[0])
    shared = compiled(q[:, None], v[:, None], u[0])
    assert shared.cost.shape == (5, 1) and np.array_equal(shared.tip[:, 0], found.tip)
    packed = compiled(compiled.pack(q, "q"), compiled.pack(v, "v"), compiled.pack(u, "u"))
    assert np.array_equal(packed.cost.dense(), found.cost) and np.array_equal(packed.tip.dense(), found.tip)
    assert "traced" in compiled.explain(64) and compiled.target == "cpu" and compiled.dtype == np.float64
    assert repr(reached) == "<UserFunction reach: (q, v, u) -> (cost, tip)>" and "target cpu" in repr(compiled)
    with pytest.raises(condyle.ShapeError, match=r"u has shape \(5, 6\), expected \(\.\.\., 7\)"):
        compiled(q, v, u[:, :6])
    with pytest.raises(TypeError, match="u"):
        compiled(q, v=v)
    with pytest.raises(condyle.UnsupportedError, match="no input 'x'; there are q, v, u"):
        compiled.pack(q, "x")


def differences(f: Callable[[np.ndarray], np.ndarray], n: int, h: float = 1e-6) -> np.ndarray:
    """(entries, n): central differences by e around 0."""
    columns = [(np.ravel(f(h * e)) - np.ravel(f(-h * e))) / (2 * h) for e in np.eye(n)]
    return np.array(columns).T


def test_derivatives_are_those_of_differences(arm: condyle.Robot, compiled: CompiledFunction) -> None:
    q, v, u = (x[0] for x in states(arm))
    J = compiled.jacobian()(q, v, u)
    assert J._fields == ("dcost_dq", "dcost_dv", "dcost_du", "dtip_dq", "dtip_dv", "dtip_du") and not J.dcost_dv.any()
    by_q = differences(lambda e: compiled(q + e, v, u).tip, 7)
    np.testing.assert_allclose(J.dtip_dq, by_q, atol=1e-8)
    np.testing.assert_allclose(J.dcost_du, 2e-3 * u, 1e-12)
    assert compiled.jacobian(by="u")(q, v, u)._fields == ("dcost_du", "dtip_du")
    weights, dq = np.array([0.3, -0.2, 0.5]), np.linspace(-1, 1, 7)
    back = compiled.vjp()(q, v, u, 2.0, weights)
    assert back._fields == ("q", "v", "u")
    np.testing.assert_allclose(back.q, 2.0 * J.dcost_dq + weights @ J.dtip_dq, atol=1e-12)
    along = compiled.jvp()(q, v, u, dq, v, u)
    np.testing.assert_allclose(along.dtip, J.dtip_dq @ dq, atol=1e-12)
    H = compiled.hessian(of="cost")(q, v, u)
    gradient = lambda e: np.concatenate(compiled.jacobian()(q + e[:7], v + e[7:14], u + e[14:])[:3])  # noqa: E731
    np.testing.assert_allclose(H, differences(gradient, 21), atol=1e-7)
    contracted = compiled.hessian(of="tip")(q, v, u, weights)
    slope = lambda e: weights @ compiled.jacobian(by=("q",))(q + e, v, u).dtip_dq  # noqa: E731
    np.testing.assert_allclose(contracted[:7, :7], differences(slope, 7), atol=1e-7)
    with pytest.raises(condyle.UnsupportedError, match="name an output: cost, tip"):
        compiled.hessian()
    with pytest.raises(condyle.UnsupportedError, match="q, v, u"):
        compiled.jacobian(by=("x",))


def every_method(at: Any, x: Any) -> dict[str, Any]:
    """All that a state has, by the specifications: every function, with its arguments made of x."""
    found: dict[str, Any] = {}
    sized = {("nq",): at.q, ("nu",): x[: len(at.robot.actuators)]}
    for name, function in FUNCTIONS.items():
        if "frames" in function.options:
            continue
        given = []
        for port in function.taking(CONTROLS).inputs:
            if port.name in HELD:
                continue
            of_size = {0: 0.1 * x[0], 1: sized.get(port.dims, x), 2: at.mass_matrix_inverse()}
            flags = port.dims == ("n_contacts",)
            given.append(np.full(1, 0.9) + 0.01 * x[:1] if flags else of_size[len(port.dims)])
        answers = getattr(at, function.method)(*given)
        for k, answer in enumerate(answers if isinstance(answers, tuple) else (answers,)):
            found[f"{name}_{k}"] = answer + 0.0 * x[0] + x[0]
    return found


def test_a_state_has_every_function(small: condyle.Robot) -> None:
    tip = condyle.Contact(list(small.frames)[-1])
    moved = small.with_actuators([condyle.Actuator(j.name, {j.name: 2.0}) for j in small.joints if j.nv == 1])
    options = {"joint_forces": ("all",), "actuators": True, "contacts": [tip]}
    f = moved.function(every_method, inputs={"q": "nq", "v": "nv", "x": "nv"}, **options)
    given = states(small, 2)
    for one, other in zip(f.compile(target="numpy")(*given), f.reference(*given), strict=True):
        np.testing.assert_allclose(one, other, 1e-9, 1e-9)


def frames(at: Any, x: Any) -> dict[str, Any]:
    first, second = at.frame("body_2"), at.frame("body_4")
    return {
        "relative": first.rotation.T @ (second.translation - first.translation),
        "rates": first.velocity - second.velocity,
        "forces": first.jacobian.T @ np.ones(6) + second.jacobian_time_derivative.T @ np.ones(6),
        "moved": second.acceleration(x) + first.acceleration(a=2.0 * x),
    }


@pytest.mark.parametrize("reference_frame", ["local", "local_world_aligned"])
def test_frames_are_asked_one_by_one(small: condyle.Robot, reference_frame: str) -> None:
    names = [name for name, frame in small.frames.items() if frame.body >= 0]

    def of(at: Any, x: Any) -> Any:
        class Renamed:
            def frame(self, name: str) -> Any:
                return at.frame(names[0] if name == "body_2" else names[-1])

        return frames(Renamed(), x)

    f = small.function(of, inputs={"q": "nq", "v": "nv", "x": "nv"}, reference_frame=reference_frame)
    q, v, x = states(small, 3)
    found = f.compile(target="numpy")(q, v, x)
    dyn = small.compile(target="numpy", frames=(names[0], names[-1]), reference_frame=reference_frame)
    pose, twist = dyn.frame_placements(q), dyn.frame_velocities(q, v)
    expected = np.einsum("nji,nj->ni", pose.rotation[:, 0], pose.translation[:, 1] - pose.translation[:, 0])
    np.testing.assert_allclose(found.relative, expected, atol=1e-13)
    np.testing.assert_allclose(found.rates, twist[:, 0] - twist[:, 1], atol=1e-13)
    for one, other in zip(found, f.reference(q, v, x), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_external_forces_and_derivatives_through_a_solve(small: condyle.Robot) -> None:
    def pushed(at: Any, tau: Any, w: Any) -> Any:
        forces = np.zeros_like(w, shape=(len(small.bodies), 6))
        forces[-1] = w
        return at.forward_dynamics(tau, f_ext=forces)

    f = small.function(pushed, inputs={"q": "nq", "v": "nv", "tau": "nv", "w": 6})
    q, v, tau = states(small, 3)
    w = np.random.default_rng(0).normal(size=(3, 6))
    compiled = f.compile(target="numpy")
    np.testing.assert_allclose(compiled(q, v, tau, w), f.reference(q, v, tau, w), 1e-10)
    J = compiled.jacobian(by=("tau", "w"))(q, v, tau, w)
    assert J._fields == ("dvalue_dtau", "dvalue_dw")
    np.testing.assert_allclose(J.dvalue_dtau, small.compile(target="numpy").mass_matrix_inverse(q), atol=1e-9)
    by_w = differences(lambda e: compiled(q[0], v[0], tau[0], w[0] + e), 6)
    np.testing.assert_allclose(J.dvalue_dw[0], by_w, atol=1e-6)
    q_bar = compiled.vjp()(q[0], v[0], tau[0], w[0], np.ones(small.nv)).q
    moved = differences(lambda e: compiled(small.integrate(q[0], e), v[0], tau[0], w[0]).sum(), small.nv)
    np.testing.assert_allclose(q_bar, moved[0], rtol=1e-5, atol=1e-5 * np.abs(moved).max())


def network(x: Any, W1: Any, b1: Any, W2: Any) -> Any:
    return W2 @ np.tanh(W1 @ x + b1)


def test_a_function_without_a_robot(tmp_path: Any) -> None:
    sizes = {"n": 6, "h": 64}
    f = condyle.function(network, inputs={"x": "n", "W1": ("h", "n"), "b1": "h", "W2": (1, "h")}, sizes=sizes)
    rng = np.random.default_rng(0)
    x, W1, b1, W2 = rng.normal(size=(9, 6)), rng.normal(size=(64, 6)), rng.normal(size=64), rng.normal(size=(1, 64))
    compiled = f.compile()
    expected = (np.tanh(x @ W1.T + b1) @ W2.T).reshape(9, 1)
    np.testing.assert_allclose(compiled(x, W1, b1, W2), expected, 1e-12)
    np.testing.assert_allclose(f.reference(x, W1, b1, W2), expected, 1e-12)
    J = compiled.jacobian(by=("x",))(x, W1, b1, W2)
    slope = 1 - np.tanh(x @ W1.T + b1) ** 2
    np.testing.assert_allclose(J[:, 0], (W2 * slope) @ W1, 1e-11)


def test_a_scalar_input_and_shapes_by_name() -> None:
    f = condyle.function(lambda s, A: {"y": s * A, "z": s**2}, inputs={"s": (), "A": ("k", 2)}, sizes={"k": 3})
    A = np.arange(12.0).reshape(2, 3, 2)
    y, z = f.compile()(np.array([2.0, 3.0]), A)
    assert y.shape == (2, 3, 2) and np.array_equal(y[1], 3 * A[1]) and z.tolist() == [4.0, 9.0]
    assert f.compile(target="numpy")(2, A).y.shape == (2, 3, 2)
    assert f.compile().jacobian()(2.0, A[0])._fields == ("dy_ds", "dy_dA", "dz_ds", "dz_dA")


def test_a_hessian_of_the_only_output() -> None:
    f = condyle.function(lambda x: x[0] * x[1] ** 2, inputs={"x": 2}).compile(target="numpy")
    assert np.allclose(f.hessian()(np.array([3.0, 5.0])), [[0.0, 10.0], [10.0, 6.0]])


def test_equal_traces_are_equal_functions_and_die_with_their_users(arm: condyle.Robot) -> None:
    one = arm.function(reach, inputs={"q": "nq", "v": "nv", "u": 7})
    other = arm.function(reach, inputs={"q": "nq", "v": "nv", "u": 7})
    assert one.specification == other.specification and hash(one.specification) == hash(other.specification)
    assert vjp(one.specification) == vjp(other.specification)
    assert function_or_none(one.specification.name) is None  # a name alone says nothing of it
    scaled = condyle.function(lambda x: x * 17.25, inputs={"x": 2})
    assert vjp(scaled.specification) is vjp(scaled.specification)
    gone = weakref.ref(scaled.specification)
    del scaled
    gc.collect()
    assert gone() is None  # derivatives that were asked for do not hold it


def test_two_functions_of_one_name_are_two() -> None:
    """Also as exports call them, which print the same name for both."""
    one, other = (condyle.function(lambda x, k=k: k * x, inputs={"x": 2}).specification for k in (2.0, 3.0))
    assert one != other and one.key != other.key
    first, second = renamed(one, "scale"), renamed(other, "scale")
    assert first.name == second.name == "scale" and vjp(first).name == "vjp_scale"
    assert first != second and vjp(first) != vjp(second)


def test_a_pickle_is_the_function_and_its_options(arm: condyle.Robot, reached: UserFunction) -> None:
    given = states(arm)
    again = pickle.loads(pickle.dumps(reached.compile(target="numpy")))
    np.testing.assert_array_equal(again(*given).cost, reached.compile(target="numpy")(*given).cost)


def test_one_states_trouble_is_its_own() -> None:
    f = condyle.function(lambda x, y: x / y + np.sqrt(x), inputs={"x": (), "y": ()}).compile()
    found = f(np.array([1.0, 1.0, -1.0, 4.0]), np.array([1.0, 0.0, 1.0, 2.0]))
    assert found[[0, 3]].tolist() == [2.0, 4.0] and np.isinf(found[1]) and np.isnan(found[2])


def test_configurations_among_inputs_and_answers(small: condyle.Robot) -> None:
    """Derivatives by a configuration are by its tangent; an answer is differentiated entry by entry."""

    def between(at: Any, goal: Any, dv: Any) -> dict[str, Any]:
        return {"ahead": at.integrate(dv), "miss": at.difference(at.integrate(dv), goal)}

    f = small.function(between, inputs={"q": "nq", "goal": "nq", "dv": "nv"}).compile(target="numpy")
    (q, goal), dv = small.random_state(2, 3).q, np.linspace(-0.3, 0.4, small.nv)
    J = f.jacobian()(q, goal, dv)
    assert J.dahead_dq.shape == (small.nq, small.nv) and J.dmiss_dgoal.shape == (small.nv, small.nv)
    for name in ("ahead", "miss"):
        of = {
            "q": lambda e, name=name: getattr(f(small.integrate(q, e), goal, dv), name),
            "goal": lambda e, name=name: getattr(f(q, small.integrate(goal, e), dv), name),
            "dv": lambda e, name=name: getattr(f(q, goal, dv + e), name),
        }
        for by, moved in of.items():
            np.testing.assert_allclose(getattr(J, f"d{name}_d{by}"), differences(moved, small.nv), atol=1e-7)


def test_a_hessian_where_joints_turn_freely() -> None:
    """Rules of calls differentiate in the tangent space at a moved q; the Hessian is that of e -> f(q + e) at e = 0."""
    robot = condyle.random_tree(3, 5, types=("revolute", "spherical"), floating_base=True)
    tip = list(robot.frames)[-1]

    def cost(at: Any) -> dict[str, object]:
        x = at.frame(tip).translation
        return {"cost": x[0] * x[1] + 3.0 * x[2]}

    f = robot.function(cost, inputs={"q": "nq"}).compile(target="numpy")
    q, h = robot.random_state(1, 0).q[0], 1e-3
    e = np.random.default_rng(0).normal(size=(8, robot.nv))
    found = np.einsum("ni,ij,nj->n", e, f.hessian()(q), e)
    ahead, behind = (f(robot.integrate(np.tile(q, (8, 1)), x)) for x in (h * e, -h * e))
    np.testing.assert_allclose(found, (ahead - 2.0 * f(q) + behind) / h**2, rtol=0, atol=2e-5)
