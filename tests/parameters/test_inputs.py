"""Inertias, gravity, armature and damping as inputs: the answers of a robot that was built with them."""

from __future__ import annotations

import inspect
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import DTypeError, Robot, ShapeError, SingularError, UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.model.physical import with_parameters
from condyle.specification.ports import NUMBERS
from tests.laws.robots import changed, relative, robot_named, states
from tests.laws.test_specification import allowed, arguments, bound_of, parts, parts_of_packed
from tests.processor import slow

Array = np.ndarray
OPEN = [name for name, one in FUNCTIONS.items() if one.numbers and name != "cfric" and not one.needs.drives]
"""Sweeps of `contact_solve` carry rounding far where cones bend: its open numbers are tested in tests/contacts, those
of joint forces and actuators in tests/drives."""
PHYSICAL = ("inertias", "gravity", "armature")
BODIES = tuple(name for name in NUMBERS if name != "actuator_gains")


def other_numbers(robot: Robot, seed: int = 1) -> dict[str, Array]:
    """Random ones that a robot can have; zero where robots do not apply theirs."""
    rng = np.random.default_rng(seed)
    found = changed(robot, armature=True)
    inertias = robot.inertias * rng.uniform(0.5, 1.5, (len(robot.bodies), 1))
    none = dict.fromkeys(("damping", "dry_friction", "stiffness"), np.zeros(robot.nv))
    return {"inertias": inertias, "gravity": rng.normal(size=3), "armature": found.armature, **none}


def rebuilt(robot: Robot, numbers: dict[str, Array]) -> Robot:
    """The robot with these numbers of its own."""
    made = with_parameters(robot, numbers["inertias"])
    joints = tuple(
        joint if joint.mimic is not None else replace(joint, armature=numbers["armature"][joint.v_slice])
        for joint in made.joints
    )
    return Robot(made.name, numbers["gravity"], joints, made.bodies, made.frames, made.base, made.snap)


@pytest.mark.parametrize("target", ["cpu", slow("c"), slow("numpy")])
@pytest.mark.parametrize("function", OPEN)
@pytest.mark.parametrize("name", ["tree-1", slow("zoo"), slow("hyq_floating"), slow("floating-2")])
def test_they_are_those_of_a_robot_built_with_them(name: str, function: str, target: str) -> None:
    robot = robot_named(name)
    numbers, known = other_numbers(robot), [name for name in FUNCTIONS[function].numbers if name in BODIES]
    own = {key: value if key in known or key not in PHYSICAL else getattr(robot, key) for key, value in numbers.items()}
    given = states(robot, 5)
    inputs, bound = arguments(robot, function, given), bound_of(robot, function)
    want = parts(rebuilt(robot, own).compile(target="numpy", **bound).function(function)(*inputs))
    dyn = robot.compile(target=target, **bound, inputs=BODIES)
    call = dyn.function(function)
    found = parts(call(*inputs, **{key: own[key] for key in known}))
    most = max(allowed(function, "float64"), 1e-9)
    assert all(relative(x, y) < most for x, y in zip(found, want, strict=True))
    each = {key: np.tile(own[key], (5, *(1 for _ in own[key].shape))) for key in known}
    for x, y in zip(parts(call(*inputs, **each)), found, strict=True):
        assert relative(x, y) < 1e-12
    packed = [dyn.pack(x, port.name) for x, port in zip(inputs, FUNCTIONS[function].inputs, strict=True)]
    for x, y in zip(parts_of_packed(call(*packed, **{key: own[key] for key in known})), found, strict=True):
        assert np.array_equal(x.dense(), y)  # type: ignore[union-attr]
    one = parts(call(*(x[2] for x in inputs), **{key: own[key] for key in known}))
    assert all(relative(x[None], y[2:3]) < most for x, y in zip(one, want, strict=True))


@pytest.mark.parametrize("name", [slow("zoo"), "hyq_floating"])
def test_what_is_left_out_is_the_robots_own(name: str) -> None:
    robot = robot_named(name)
    plain, opened = robot.compile(), robot.compile(inputs=("inertias", "gravity", "armature"))
    q, v, a, f_ext = states(robot, 4)
    for method, inputs in (("forward_dynamics", (q, v, a)), ("inverse_dynamics", (q, v, a)), ("mass_matrix", (q,))):
        assert relative(getattr(opened, method)(*inputs), getattr(plain, method)(*inputs)) < 1e-9
    found = opened.forward_dynamics(q, v, a, f_ext=f_ext)
    assert relative(found, plain.forward_dynamics(q, v, a, f_ext=f_ext)) < 1e-9


def test_damping_is_taken_from_tau() -> None:
    robot = condyle.random_tree(4, 3, floating_base=True)
    q, v, tau, f_ext = states(robot, 4)
    friction = np.random.default_rng(2).uniform(0.0, 1.0, robot.nv)
    plain, dyn = robot.compile(), robot.compile(inputs=("damping",), integrator="rk4")
    want = plain.forward_dynamics(q, v, tau - friction * v, f_ext=f_ext)
    assert relative(dyn.forward_dynamics(q, v, tau, f_ext=f_ext, damping=friction), want) < 1e-9
    a = plain.inverse_dynamics(q, v, tau)
    assert relative(dyn.inverse_dynamics(q, v, tau, damping=friction), a + friction * v) < 1e-12
    slopes = dyn.forward_dynamics_derivatives(q, v, tau, damping=friction)
    h = 1e-6
    for k in range(robot.nv):
        e = np.zeros(robot.nv)
        e[k] = h
        ends = [dyn.forward_dynamics(q, v + x * e, tau, damping=friction) for x in (1.0, -1.0)]
        assert np.abs(slopes.da_dv[:, :, k] - (ends[0] - ends[1]) / (2.0 * h)).max() < 1e-5 * np.abs(slopes.da_dv).max()


@pytest.mark.parametrize("target", ["numpy", "cpu"])
def test_a_hessian_of_forward_dynamics_by_what_moves_the_mass_matrix(target: str) -> None:
    """Inertias and armature: along one direction it is the difference of cotangents."""
    robot = condyle.random_tree(3, 4, types=("revolute", "prismatic"))
    dyn, rng = robot.compile(target, inputs=("inertias", "armature")), np.random.default_rng(3)
    q, v, tau, _ = states(robot, 2)
    numbers = other_numbers(robot)
    point = [q, v, tau, np.tile(numbers["inertias"], (2, 1, 1)), np.tile(numbers["armature"] + 0.1, (2, 1))]
    factors, along = rng.normal(size=(2, robot.nv)), [0.1 * rng.normal(size=x.shape) for x in point]

    def cotangents(step: float) -> Array:
        *moved, pi, rotors = (x + step * dx for x, dx in zip(point, along, strict=True))
        bars = dyn.vjp("fd")(*moved, factors, inertias=pi, armature=rotors)
        return np.concatenate([x.reshape(2, -1) for x in bars], 1)

    H = dyn.hessian("fd")(*point[:3], factors, inertias=point[3], armature=point[4])
    direction = np.concatenate([x.reshape(2, -1) for x in along], 1)
    expected = (cotangents(1e-5) - cotangents(-1e-5)) / 2e-5
    assert np.array_equal(H, np.swapaxes(H, 1, 2))
    assert relative(np.einsum("nij,nj->ni", H, direction), expected) < 1e-6  # of central differences


@pytest.mark.slow
def test_derivatives_by_parameters() -> None:
    """The regressor is the Jacobian of id; that of fd is -M^-1 Y; cotangents are products with it."""
    robot = robot_named("floating-2")
    q, v, a, _ = states(robot, 4)
    dyn, n = robot.compile(inputs=("inertias",)), len(robot.bodies)
    pi = robot.inertias * np.random.default_rng(1).uniform(0.8, 1.2, (4, n, 1))
    tau = dyn.inverse_dynamics(q, v, a, inertias=pi)
    Y = dyn.jacobian("id", by=("inertias",))(q, v, a, inertias=pi)
    plain = robot.compile()
    assert relative(Y.reshape(4, robot.nv, 10 * n), plain.inverse_dynamics_regressor(q, v, a)) < 1e-12
    J = dyn.jacobian("fd", by=("inertias",))(q, v, tau, inertias=pi)
    inverse = dyn.mass_matrix_inverse(q, inertias=pi)
    assert relative(J, -np.einsum("nij,njkl->nikl", inverse, Y)) < 1e-7
    bars = dyn.vjp("fd")(q, v, tau, a, inertias=pi)
    assert relative(bars.inertias, np.einsum("ni,nikl->nkl", a, J)) < 1e-7
    shared = dyn.vjp("fd")(q, v, tau, a, inertias=pi[0])
    each = dyn.vjp("fd")(q, v, tau, a, inertias=np.tile(pi[0], (4, 1, 1)))
    assert shared.inertias.shape == (n, 10) and relative(shared.inertias[None], each.inertias.sum(0)[None]) < 1e-12
    change = 1e-3 * pi
    along = dyn.jvp("fd")(q, v, tau, 0 * v, 0 * v, 0 * v, inertias=pi, dinertias=change)
    assert relative(along, np.einsum("nikl,nkl->ni", J, change)) < 1e-7
    assert dyn.hessian("ke")(q, v, np.ones(4), inertias=pi).shape == (4, 2 * robot.nv + 10 * n, 2 * robot.nv + 10 * n)


def test_a_state_with_a_singular_mass_matrix_spoils_its_own_answer_alone() -> None:
    robot = condyle.load("iiwa14")
    q, v, tau, _ = states(robot, 4)
    dyn = robot.compile(inputs=("inertias",))
    pi = np.tile(robot.inertias, (4, 1, 1))
    want = dyn.forward_dynamics(q, v, tau, inertias=pi)
    pi[2] = 0.0
    found = dyn.forward_dynamics(q, v, tau, inertias=pi)
    assert not np.isfinite(found[2]).any()
    assert np.array_equal(np.delete(found, 2, 0), np.delete(want, 2, 0))


@pytest.mark.parametrize("massless", [slice(2, 3), slice(0, 3)])
def test_masses_of_a_robot_without_any(massless: slice, tmp_path: Path) -> None:
    """What its own numbers have no answer for, others have; its own answers are not finite."""
    robot = condyle.chain(3, rng=1)
    pi = robot.inertias.copy()
    pi[massless] = 0.0
    with pytest.warns(condyle.ModelWarning):
        light = robot.with_inertias(pi)
    q, v, tau, _ = states(robot, 3)
    with pytest.raises(SingularError, match=r"moves? no inertia of (its|their) own"):
        light.compile(inputs=("gravity",)).forward_dynamics(q, v, tau)
    dyn, plain = light.compile(inputs=("inertias",)), robot.compile()
    for name in ("forward_dynamics", "inverse_dynamics"):
        found = getattr(dyn, name)(q, v, tau, inertias=robot.inertias)
        assert relative(found, getattr(plain, name)(q, v, tau)) < 1e-9
    slopes = dyn.forward_dynamics_derivatives(*map(dyn.pack, (q, v, tau), ("q", "v", "tau")), inertias=robot.inertias)
    want = plain.forward_dynamics_derivatives(q, v, tau)
    assert relative(slopes.da_dq.dense(), want.da_dq) < 1e-9  # type: ignore[attr-defined]
    assert relative(dyn.center_of_mass(q, inertias=robot.inertias), plain.center_of_mass(q)) < 1e-12
    assert "com_inertias" in dyn.explain(1) and "com_inertias" in dyn.explain(1, ("com",))
    assert not np.isfinite(dyn.forward_dynamics(q, v, tau)).all()
    condyle.export(light, "c", tmp_path, functions=("fd", "vjp_fd"), inputs=("inertias",))


def test_named_routes_serve_variants() -> None:
    robot = condyle.load("iiwa14")
    q, v, tau, f_ext = states(robot, 3)
    dyn = robot.compile(inputs=("inertias",), routes={"fd": "aba"})
    assert "fd_inertias  aba " in dyn.explain(1, ("fd",))
    want = robot.compile().forward_dynamics(q, v, tau, f_ext=f_ext)
    assert relative(dyn.forward_dynamics(q, v, tau, f_ext=f_ext), want) < 1e-9
    scanned = robot.compile(inputs=("gravity",), links="scan")  # those without numbers are scanned, others are not
    assert "fd_gravity   ltl " in scanned.explain(1, ("fd",)) and "segments" in robot.compile(links="scan").explain(1)
    assert relative(scanned.forward_dynamics(q, v, tau, f_ext=f_ext), want) < 1e-9


@pytest.mark.slow
def test_steps_and_rollouts_take_them() -> None:
    robot = robot_named("tree-1")
    numbers = other_numbers(robot)
    q, v, tau, f_ext = states(robot, 3)
    torques = np.stack([tau, -tau, 0 * tau], axis=1)
    dyn = robot.compile(inputs=BODIES)
    other = rebuilt(robot, numbers).compile(target="numpy")
    state, last = (q, v), dyn.rollout(q, v, torques, 1e-3, last=True, **numbers)
    for k in range(3):
        state = other.step(*state, torques[:, k], 1e-3)
    assert relative(last.q, state[0]) < 1e-9 and relative(last.v, state[1]) < 1e-8
    A, B, E = dyn.step_derivatives(q, v, tau, 1e-3, f_ext=f_ext, **numbers)
    for x, y in zip((A, B, E), other.step_derivatives(q, v, tau, 1e-3, f_ext=f_ext), strict=True):
        assert relative(x, y) < 1e-8
    bars = dyn.vjp("rollout")(q, v, torques, 1e-3, v, v, last=True, **numbers)
    assert bars.inertias.shape == numbers["inertias"].shape and bars.tau.shape == torques.shape


def test_users_functions_pass_them_on() -> None:
    robot = condyle.load("iiwa14")

    def residual(at: condyle.Dynamics, a: Array, theta: Array) -> dict[str, Array]:
        return {"tau": at.inverse_dynamics(a, inertias=condyle.from_log_cholesky(theta))}

    f = robot.function(residual, inputs={"q": "nq", "v": "nv", "a": "nv", "theta": ("n_bodies", 10)})
    q, v, a, _ = states(robot, 3)
    theta = condyle.log_cholesky(robot.inertias)
    tau = robot.compile().inverse_dynamics(q, v, a)
    assert relative(f.compile()(q, v, a, theta), tau) < 1e-12
    assert relative(f.reference(q, v, a, theta), tau) < 1e-12


def test_calls_are_checked() -> None:
    robot = condyle.load("iiwa14")
    q, v, tau, _ = states(robot, 3)
    for wrong in (("mass",), ("inertias", "inertias"), 3, None, [["inertias"]]):
        with pytest.raises(
            UnsupportedError,
            match="'inertias', 'gravity', 'armature', 'damping', 'dry_friction', 'stiffness', each once",
        ):
            robot.compile(inputs=wrong)  # type: ignore[arg-type]
    dyn = robot.compile(inputs=("inertias",))
    with pytest.raises(ShapeError, match="inertias"):
        dyn.forward_dynamics(q, v, tau, inertias=robot.inertias[:3])
    with pytest.raises(DTypeError, match="inertias"):
        dyn.forward_dynamics(q, v, tau, inertias=robot.inertias.astype(np.float32))
    with pytest.raises(
        TypeError, match=r"forward_dynamics: .*; compile\(inputs=\('gravity',\)\) makes gravity an argument"
    ):
        dyn.forward_dynamics(q, v, tau, gravity=np.zeros(3))
    with pytest.raises(
        TypeError, match=r"mass_matrix: got an unexpected keyword argument 'gravity'; call mass_matrix\(q, out=None\)$"
    ):
        dyn.mass_matrix(q, gravity=np.zeros(3))
    with pytest.raises(TypeError, match=r"compile\(inputs=\('gravity',\)\)"):
        dyn.rollout(q, v, tau[:, None], 0.01, gravity=np.zeros(3))
    with pytest.raises(TypeError):
        robot.compile().forward_dynamics(q, v, tau, inertias=robot.inertias)


def test_arguments_by_position_keep_their_order() -> None:
    """External forces, then `out`, stand before numbers, whose shapes may be the same: here 6 bodies, 6 joints."""
    robot = condyle.chain(6, rng=3)
    q, v, tau, _ = states(robot, 6)
    rng, own = np.random.default_rng(1), {"armature": np.zeros(6)}
    dyn, forces = robot.compile(inputs=("armature",)), rng.normal(size=(6, 6))
    each, bar = rng.uniform(0.1, 1.0, (6, 6)), rng.normal(size=(6, 6))
    for _ in range(2):  # the second call is the native one
        want = dyn.forward_dynamics(q, v, tau, f_ext=forces, **own)
        assert np.array_equal(dyn.forward_dynamics(q, v, tau, forces, **own), want)
        out = np.empty((6, 6))
        assert dyn.forward_dynamics(q, v, tau, None, out, armature=each) is out
        assert np.array_equal(out, dyn.forward_dynamics(q, v, tau, armature=each))
        gradient = dyn.vjp("fd")
        assert np.array_equal(gradient(q, v, tau, bar, None, each).tau, gradient(q, v, tau, bar, armature=each).tau)
        along = dyn.jvp("m")
        assert np.array_equal(along(q, bar, each, each), along(q, bar, armature=each, darmature=each))
        tangents = v, tau, bar
        jvp = robot.compile().jvp("id")
        assert np.array_equal(jvp(q, v, tau, *tangents, forces), jvp(q, v, tau, *tangents, f_ext=forces))


def test_calls_are_those_of_methods() -> None:
    dyn = condyle.load("iiwa14").compile(inputs=("inertias",))
    call = dyn.forward_dynamics
    assert str(inspect.signature(call)) == "(q, v, tau, f_ext=None, out=None, *, inertias=None)"
    assert "inertias (..., n_bodies, 10)" in (call.__doc__ or "") and repr(call).startswith(
        "<forward_dynamics of <Dyna"
    )
    q, v, tau, _ = states(condyle.load("iiwa14"), 3)
    assert np.array_equal(pickle.loads(pickle.dumps(call))(q, v, tau), call(q, v, tau))


def test_one_compile_serves_all_and_nothing_else_changes() -> None:
    robot = condyle.load("iiwa14")
    dyn = robot.compile(inputs=("gravity", "inertias"))
    assert dyn.signature["fd"] == "(nq),(nv),(nv),(n_bodies,10),(3)->(nv)"
    assert "fd_inertias_gravity" in dyn.explain(1, ("fd",)) and "vjp_fd_inertias" in dyn.explain(1, ("vjp_fd",))
    assert dyn.memory(10, ("fd",))["fd_inertias_gravity"] == 10 * 8 * (4 * 7 + 70 + 3)
    again = pickle.loads(pickle.dumps(dyn))
    q, v, tau, _ = states(robot, 3)
    assert np.array_equal(again.forward_dynamics(q, v, tau), dyn.forward_dynamics(q, v, tau))
    fd, fk = FUNCTIONS["fd"], FUNCTIONS["fk"]
    assert fd.taking(*BODIES).name == "fd_" + "_".join(BODIES) and fk.taking(*NUMBERS) is fk
    assert fd.taking("gravity", "f_ext").name == "fd_f_ext_gravity"


def test_high_derivatives_of_a_step_with_open_numbers() -> None:
    """64 inputs are the most of a native call; more are an error that says the cure."""
    names, robot = ("inertias", "gravity", "armature", "damping"), condyle.chain(1, rng=0)
    dyn, plain = (robot.compile(target, inputs=names) for target in ("cpu", "numpy"))
    third = f"jvp_jvp_jvp_step_{'_'.join(names)}"
    rng = np.random.default_rng(0)
    given = [rng.uniform(0.5, 1.5, (3, *spec.dims)) for spec in dyn.binder(third).specs[0]]
    assert len(given) == 64
    for got, expected in zip(dyn.call(third, given), plain.call(third, given), strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-10, atol=1e-9 * np.abs(expected).max())
    with pytest.raises(condyle.UnsupportedError, match=r"128 inputs, and native calls take 64.*take vjp"):
        dyn.function(f"jvp_{third}")
