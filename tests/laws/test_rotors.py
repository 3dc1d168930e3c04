"""Armature of a free joint: rotors along the parent's axes, on every way to every function."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import condyle
from benchmarks import parallel as scans
from benchmarks.parallel import segmented
from condyle import ModelError, Robot, UnsupportedError
from condyle.algorithms import rnea as rotors
from condyle.algorithms.joint import NO_BODY, Dof, Joint
from condyle.backends.cpu.build import build_chain, supported
from condyle.fpga.plans import held
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.ir import interp
from condyle.ir.interp import run_rolled
from condyle.links.algorithms.arrays import GUARD
from condyle.links.compiler import longest
from condyle.model.joints import JOINT_TYPES
from condyle.model.parts import Body, combine
from condyle.model.placement import IDENTITY
from condyle.model.tree import tree_of
from condyle.scalar import number
from condyle.spatial.rotation import IDENTITY as STILL
from condyle.specification.ports import F_EXT
from condyle.trace.loops import roll
from condyle.trace.reference import evaluate
from condyle.trace.straight import trace
from tests.backends.cuda.simulate import simulate
from tests.laws.evaluated import by_complex_step, reference
from tests.laws.motion import STEP
from tests.laws.robots import Array, relative, robot_named, states
from tests.laws.tangent import tangent_map, turned
from tests.processor import slow

ROUNDING = 1e-13
SOLVED = 1e-11  # the condition of M, up to 1e3 for these robots
ROTOR = 0.7


@cache
def floating(rotor: float, hinges: int = 4) -> Robot:
    """A chain on a free joint that is placed and turned, with rotors of its own, unlike along the angular axes."""
    rng = np.random.default_rng(5)
    builder = condyle.Builder("floating", gravity=(1.0, 2.0, -3.0))
    builder.body("root", mass=2.0, com=(0.1, 0.2, 0.05), inertia=np.diag((0.1, 0.2, 0.15)))
    armature = (rotor, rotor, rotor, 0.1, 0.2, 0.3)
    place = {"xyz": (0.1, 0.2, 0.3), "rpy": (0.3, 0.2, 0.1)}
    builder.joint("float", parent="world", child="root", type="free", armature=armature, **place)
    for i in range(hinges):
        builder.body(f"b{i}", mass=1.0, com=rng.uniform(-0.1, 0.1, 3), inertia=np.diag((0.02, 0.03, 0.04)))
        parent, turn = "root" if i == 0 else f"b{i - 1}", rng.uniform(-1.0, 1.0, 3)
        axis = np.eye(3)[i % 3]
        builder.joint(f"j{i}", parent=parent, child=f"b{i}", type="revolute", axis=axis, xyz=(0.3, 0.1, 0), rpy=turn)
    return builder.build()


@cache
def below(rotor: float) -> Robot:
    """A free joint behind a hinge, and one more behind it beside another hinge."""
    builder = condyle.Builder("below", gravity=(1.0, 2.0, -3.0))
    rng = np.random.default_rng(6)
    joints = (("a", "world", "revolute"), ("b", "a", "free"), ("c", "b", "free"), ("d", "b", "prismatic"))
    for name, parent, kind in joints:
        builder.body(name, mass=1.5, com=rng.uniform(-0.1, 0.1, 3), inertia=np.diag((0.05, 0.06, 0.07)))
        place = {"xyz": rng.uniform(-0.3, 0.3, 3), "rpy": rng.uniform(-1.0, 1.0, 3)}
        builder.joint(f"to_{name}", parent=parent, child=name, type=kind, axis=(0, 1, 0), armature=rotor, **place)
    return builder.build()


ROBOTS = {"floating": lambda: floating(ROTOR), "below": lambda: below(ROTOR)}


def given(robot: Robot, function: str, n: int = 3) -> dict[str, Array]:
    """Inputs by name, flat, with external forces where there are any."""
    some = states(robot, n, seed=4)
    known = {"q": some.q, "v": some.v, "a": some.a, "tau": some.a, "f_ext": some.f_ext.reshape(n, -1)}
    known["Minv"] = reference(robot, "minv", some.q).reshape(n, -1)
    return {port.name: known[port.name] for port in FUNCTIONS[function].taking(F_EXT).inputs}


def answers(robot: Robot, function: str, inputs: dict[str, Array], route: str = "") -> list[Array]:
    return evaluate(tree_of(robot), FUNCTIONS[function], route or FUNCTIONS[function].route_names(False)[0], inputs)


def with_point_mass(robot: Robot, mass: float) -> Robot:
    """The robot with a point mass at the origin of its first body."""
    first = robot.bodies[0]
    point = Body(first.name, mass, np.zeros(3), np.zeros((3, 3)))
    whole = combine(first.name, [(IDENTITY, first), (IDENTITY, point)])
    return replace(robot, bodies=(whole, *robot.bodies[1:]))


@pytest.mark.parametrize("function", ["id", "fd", "m", "minv", "did", "dfd"])
def test_a_rotor_on_the_base_is_a_point_mass_without_weight(function: str) -> None:
    """The same kinetic energy in the world, so without gravity all functions are the same."""
    here = replace(floating(ROTOR), gravity=np.zeros(3))
    point = with_point_mass(replace(floating(0.0), gravity=np.zeros(3)), ROTOR)
    inputs = given(here, function)
    for one, two in zip(answers(here, function, inputs), answers(point, function, inputs), strict=True):
        assert relative(one, two) < SOLVED


def test_what_moves_straight_in_the_world_needs_no_force_of_its_rotors() -> None:
    """a = -w x v is a constant velocity in the parent's axes, whatever the body's axes do."""
    robot, without = floating(ROTOR), floating(0.0)
    q, v, a, _ = states(robot)
    v[:, 6:] = a[:, 6:] = 0.0
    a[:, :3], a[:, 3:6] = -np.cross(v[:, 3:6], v[:, :3]), 0.0
    assert np.abs(reference(robot, "id", q, v, a) - reference(without, "id", q, v, a)).max() < ROUNDING
    still = np.zeros_like(a)
    assert np.abs(reference(robot, "id", q, v, still) - reference(without, "id", q, v, still)).max() > 1e-2


@pytest.mark.parametrize("name", ROBOTS)
def test_forces_of_rotors_are_lagranges(name: str) -> None:
    """tau's part is the rate of momentum armature R v in the parent's axes, by differences along the motion."""
    robot = ROBOTS[name]()
    bare = replace(robot, joints=tuple(replace(joint, armature=0.0 * joint.armature) for joint in robot.joints))
    q, v, a, _ = states(robot, 2)
    found = reference(robot, "id", q, v, a) - reference(bare, "id", q, v, a)
    for joint in robot.joints:
        own = joint.v_slice
        wanted = joint.armature * a[:, own]
        if joint.type == "free":
            momenta = []
            for t in (-STEP, STEP):
                R = turned(robot.integrate(q, t * v)[:, joint.q_slice][:, 3:])
                momenta.append(joint.armature[0] * np.einsum("nij,nj->ni", R, (v + t * a)[:, own][:, :3]))
            rate = (momenta[1] - momenta[0]) / (2.0 * STEP)
            wanted[:, :3] = np.einsum("nji,nj->ni", turned(q[:, joint.q_slice][:, 3:]), rate)
        assert np.abs(found[:, own] - wanted).max() < 1e-8


@pytest.mark.parametrize("name", ROBOTS)
def test_energy_of_bodies_and_rotors_is_what_the_joints_give(name: str) -> None:
    """d/dt of 1/2 v M v is v tau without gravity."""
    robot = replace(ROBOTS[name](), gravity=np.zeros(3))
    q, v, a, _ = states(robot, 1)
    tau = reference(robot, "id", q, v, a)[0]
    energy = [
        0.5 * (v[0] + t * a[0]) @ reference(robot, "m", robot.integrate(q, t * v))[0] @ (v[0] + t * a[0])
        for t in (-STEP, STEP)
    ]
    assert (energy[1] - energy[0]) / (2.0 * STEP) == pytest.approx(float(v[0] @ tau), rel=1e-7)


@pytest.mark.parametrize("name", ROBOTS)
def test_derivatives_are_derivatives(name: str) -> None:
    robot = ROBOTS[name]()
    q, v, a, f_ext = states(robot, 2)
    by_q = by_complex_step(robot, "id", tangent_map(robot, q), q, v, a, f_ext)
    unit = np.broadcast_to(np.eye(robot.nv), (2, robot.nv, robot.nv))
    by_v = by_complex_step(robot, "id", unit, q, v, a, f_ext, rate=True)
    for route in FUNCTIONS["did"].route_names(False):
        dtau_dq, dtau_dv = reference(robot, "did", q, v, a, f_ext=f_ext, route=route)
        assert relative(dtau_dq, by_q) < 1e-12, route
        assert relative(dtau_dv, by_v) < 1e-12, route


@pytest.mark.slow  # every route of a chain is traced
@pytest.mark.parametrize("function", DEFAULT)
@pytest.mark.parametrize("name", ROBOTS)
def test_every_route_straight_rolled_and_scanned(name: str, function: str) -> None:
    robot = ROBOTS[name]()
    tree, inputs = tree_of(robot), given(robot, function)
    want = answers(robot, function, inputs)
    forced = FUNCTIONS[function].taking(F_EXT)

    def agree(found: list[Array]) -> bool:
        return all(relative(np.reshape(x, y.shape), y) < SOLVED for x, y in zip(found, want, strict=True))

    for route in FUNCTIONS[function].route_names(False):
        assert agree(answers(robot, function, inputs, route)), route
        program = trace(tree, forced, route)
        assert agree(interp.run(program, list(inputs.values()), np.float64)), route
    assert agree(run_rolled(roll(tree, forced), list(inputs.values())))
    for route in scans.ROUTES[function]:
        assert agree(scans.evaluate(tree, forced, route, inputs)), route


@pytest.mark.parametrize("target", ["cpu", slow("c")])
@pytest.mark.parametrize("function", DEFAULT)
def test_compiled(function: str, target: str) -> None:
    robot = floating(ROTOR)
    inputs = given(robot, function)
    shaped = [x.reshape(3, -1, 6) if name == "f_ext" else x for name, x in inputs.items()]
    shaped = [x.reshape(3, robot.nv, robot.nv) if name == "Minv" else x for name, x in zip(inputs, shaped, strict=True)]
    found = robot.compile(target=target).function(function)(*shaped)
    parts = found if isinstance(found, tuple) else (found,)
    for one, two in zip(parts, answers(robot, function, inputs), strict=True):
        assert relative(one.reshape(two.shape), two) < SOLVED


@pytest.mark.skipif(not supported(), reason="machine code needs an x86-64 processor with AVX2 and FMA")
@pytest.mark.parametrize("function", ["id", "fd"])
def test_chunks_of_a_chain(function: str) -> None:
    robot = floating(ROTOR, 9)
    inputs, forced = given(robot, function), FUNCTIONS[function].taking(F_EXT)
    made = segmented(tree_of(robot), forced, supported()[0].lanes(64), GUARD * float(np.finfo(float).eps))
    found = np.zeros((3, robot.nv))
    build_chain(made, "float64", supported()[0])(3, list(inputs.values()), [found], 1)
    assert relative(found, answers(robot, function, inputs)[0]) < SOLVED


@pytest.mark.parametrize("function", ["id", "fd", "minv"])
@pytest.mark.parametrize("name", ROBOTS)
def test_links_in_the_lanes_of_a_gpu(name: str, function: str) -> None:
    robot = ROBOTS[name]()
    tree, inputs = tree_of(robot), given(robot, function)
    (found,) = simulate(scans.parts(tree, FUNCTIONS[function].taking(F_EXT), "float64"), list(inputs.values()))
    (want,) = answers(robot, function, inputs)
    assert relative(found.reshape(want.shape), want) < 1e-10


def test_derivatives_of_pairs_are_left_to_serial_code() -> None:
    """An entry of a pair of records does not know the joint's own v: no scan of derivatives on a GPU."""
    for function in DEFAULT:
        served = function not in ("did", "dfd", "difd")
        assert (longest(tree_of(floating(ROTOR)), FUNCTIONS[function]) > 0) is served
        assert longest(tree_of(floating(0.0)), FUNCTIONS[function]) > 0


def test_numbers_that_would_make_m_turn_are_refused() -> None:
    """Where a joint is built in code, changed, or read."""
    builder = condyle.Builder().body("a", mass=1.0, inertia=0.01 * np.eye(3))
    builder.joint("j", parent="world", child="a", type="free", armature=(1, 2, 3, 4, 5, 6))
    with pytest.raises(ModelError, match=r"joint 'j': armature \[1 2 3\] along the linear axes.*one number for all"):
        builder.build()
    joint = floating(ROTOR).joints[0]
    with pytest.raises(ModelError, match="joint 'float': armature"):
        replace(joint, armature=np.arange(6.0))
    assert replace(joint, armature=np.array((2.0, 2.0, 2.0, 4.0, 5.0, 6.0))).armature[5] == 6.0


def test_a_base_with_rotors_stays_where_it_is() -> None:
    """At another link the same number would be another energy."""
    bare = robot_named("hyq_floating")
    rotors = replace(bare.joints[0], armature=np.full(6, ROTOR))
    robot = replace(bare, joints=(rotors, *bare.joints[1:]))
    with pytest.raises(UnsupportedError, match=r"joint 'root_joint' has armature.*cannot be moved"):
        robot.reroot("lf_upperleg")
    for root in ("lf_upperleg", "auto"):
        with pytest.raises(UnsupportedError, match="'root_joint' has armature"):
            held(robot, root)
    assert robot.reroot("base_link_0").joints[0].armature[0] == ROTOR
    assert robot.lock({"lf_haa_joint": 0.1}).joints[0].armature.tolist() == [ROTOR] * 6


def test_rotors_of_a_planar_joint_turn_with_the_body() -> None:
    """Its armature is the plain diagonal along the axes of v, as Pinocchio's."""
    robot = robot_named("zoo")
    bare = replace(robot, joints=tuple(replace(joint, armature=0.0 * joint.armature) for joint in robot.joints))
    q, v, a, _ = states(robot, 2)
    found = reference(robot, "id", q, v, a) - reference(bare, "id", q, v, a)
    joint = robot.joint("planar")
    assert joint.armature.all()
    assert np.abs(found[:, joint.v_slice] - joint.armature * a[:, joint.v_slice]).max() < 1e-12


def test_rotors_along_one_axis_turn_too() -> None:
    """Each linear entry's armature counts by itself: that along z alone, too, is times a + w x v."""
    kind, dofs = JOINT_TYPES["free"], [0.0, 0.0, ROTOR, 0.0, 0.0, 0.0]
    columns = zip(kind.subspace(0.0), dofs, strict=True)
    joint = Joint(STILL, tuple(Dof(*column, number(one)) for column, one in columns), NO_BODY, False)
    v, a = np.random.default_rng(2).uniform(-1.0, 1.0, (2, 6))
    assert rotors.has_turning_rotors(joint)
    wanted = a[2] + np.cross(v[3:], v[:3])[2]
    assert float(rotors.rates(joint, v.tolist(), a.tolist())[2]) == pytest.approx(wanted, abs=ROUNDING)
    tau = rotors.less_bias(joint, [0.0] * 6, v.tolist())
    assert float(tau[2]) == pytest.approx(-ROTOR * (wanted - a[2]), abs=ROUNDING)
