"""What loops refuse, isomorphic branches, bounds of lengths, and the time loops of rollouts and of their gradients."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.algorithms.joint import NO_BODY, Dof, Joint
from condyle.errors import UnsupportedError
from condyle.functions import FUNCTIONS
from condyle.functions.repeat import repeat
from condyle.ir import loops as ir
from condyle.ir.expr import Graph
from condyle.ir.interp import run, run_repeated
from condyle.ir.loops import COUNT, Give, Take, TimeLoop
from condyle.ir.program import Array
from condyle.model.tree import Tree, tree_of
from condyle.spatial.rotation import IDENTITY
from condyle.specification import Function, Port, Repeat
from condyle.specification.ports import F_EXT
from condyle.trace.loops import (
    BranchIndex,
    Lengths,
    branches_of,
    repeated,
    roll,
    rolled_route,
    second_moments,
    sizes_of,
    tape,
    time_loop,
    turning_moments,
)
from condyle.trace.recorded_steps import External, Handle, Lazy, MatrixHandle, StepGraph, Unit
from condyle.trace.recorded_sweeps import Rolling
from condyle.trace.straight import trace

# What loops refuse.


def test_a_function_without_a_route_of_loops_is_refused_by_name() -> None:
    assert rolled_route(FUNCTIONS["fd"]) == "aba"
    none = next(one for one in FUNCTIONS.values() if not any(way.loops for way in one.routes.values()))
    with pytest.raises(UnsupportedError, match="has no form of loops over joints"):
        rolled_route(none)


def test_forces_in_the_axes_of_the_world_are_refused_and_the_cure_is_said() -> None:
    tree = condyle.chain(2).compile("numpy", force_frame="local_world_aligned")._compiler.tree
    with pytest.raises(UnsupportedError, match="compile with force_frame='local'"):
        roll(tree, FUNCTIONS["id"].taking(F_EXT))
    assert roll(tree, FUNCTIONS["id"]).name == "id"


def test_what_loops_cannot_say_is_refused() -> None:
    rolling = Rolling(tree_of(condyle.chain(2)), False)
    with pytest.raises(UnsupportedError, match="no sum over all"):
        rolling.total(rolling.input("v"))
    assert rolling.f_ext is None and Rolling(tree_of(condyle.chain(2)), True).f_ext is not None


@pytest.mark.parametrize("kind", [Handle, External, Unit])
def test_a_field_of_a_recording_has_no_elements(kind: type[Handle[object]]) -> None:
    field = kind(ir.Ref("here", "x"), ())
    for ask in (len, lambda x: x[0], lambda x: x[1:]):
        with pytest.raises(TypeError, match="a rolled field has no elements"):
            ask(field)
    assert not field.needs() and not Lazy(lambda *_: None, [field]).needs()
    with pytest.raises(TypeError, match="a rolled matrix has no elements"):
        MatrixHandle("m").get(0, 0)


def test_sines_of_a_joints_own_coordinates_are_read_and_others_computed() -> None:
    graph = StepGraph(2)
    q, v = graph.read(ir.Ref("input", "q"), 2), graph.read(ir.Ref("input", "v"), 1)
    assert graph.read(ir.Ref("input", "q"), 2)[1].index == q[1].index  # type: ignore[attr-defined]
    found = [graph.function(op, (x,)) for x in q for op in ("cos", "sin")]  # type: ignore[arg-type]
    assert [graph.nodes[x.index] for x in found] == [("input", 2, k) for k in range(4)]  # type: ignore[union-attr]
    assert graph.refs == [ir.Ref("input", "q"), ir.Ref("input", "v"), ir.Ref("here", "trig")]
    assert [array.size for array in graph.arrays] == [2, 1, 4]
    for x in (v[0], q[0] + q[1]):
        made = graph.function("sin", (x,))  # type: ignore[arg-type]
        assert graph.nodes[made.index][0] == "sin"  # type: ignore[union-attr]
    assert graph.function("cos", (0.0,)) == 1.0
    assert graph.nodes[graph.function("sqrt", (q[0],)).index][0] == "sqrt"  # type: ignore[arg-type, union-attr]


# Isomorphic branches.


def limbs(**kinds: str) -> Tree:
    """A torso on a prismatic joint; each limb has a joint for each letter of its word, one behind the other."""
    builder = condyle.Builder("limbs").body("root")
    types = {"r": "revolute", "p": "prismatic", "s": "spherical"}
    parents = {"torso": ("root", "p")}
    for limb, word in kinds.items():
        parents |= {f"{limb}{k}": (f"{limb}{k - 1}" if k else "torso", letter) for k, letter in enumerate(word)}
    for name, (parent, letter) in parents.items():
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))
        axis: dict[str, Any] = {} if letter == "s" else {"axis": (0, 1, 0)}
        builder.joint(f"to_{name}", parent=parent, child=name, type=types[letter], **axis)
    return tree_of(builder.build())


def test_branches_with_the_same_joints_are_found_and_numbered() -> None:
    tree = limbs(arm_l="rs", arm_r="rs", tail="rr", leg_l="rp", leg_r="rp", leg_m="rp")
    found = branches_of(tree)
    place = {i: tuple(index) for i, index in found.joints.items()}
    assert len(tree.links) == 13
    arms, legs = sorted({kind for kind, _, _ in place.values()})
    assert place == {
        **{1 + 2 * b + p: (arms, b, p) for b in range(2) for p in range(2)},
        **{7 + 2 * b + p: (legs, b, p) for b in range(3) for p in range(2)},
    }
    second = tree.links[4]
    assert [found.inputs["q", x.entry] for x in second.q] == [BranchIndex(arms, 1, k) for k in (1, 2, 3, 4)]
    for name in "va":
        assert [found.inputs[name, x.entry] for x in second.v] == [BranchIndex(arms, 1, k) for k in (1, 2, 3)]
    forces = [found.inputs["f_ext", 6 * second.body + k] for k in range(6)]
    assert forces == [BranchIndex(arms, 1, 6 + k) for k in range(6)]
    assert not [key for key in found.inputs if key == ("q", 0)]
    tail = {6 * tree.links[k].body for k in (5, 6)}
    assert not [key for key in found.inputs if key[0] == "f_ext" and key[1] in tail]


def test_branches_inside_a_lone_branch_are_found() -> None:
    builder = condyle.Builder("hand").body("root")
    for name, parent in {"arm": "root", "palm": "arm", "one": "palm", "two": "palm"}.items():
        builder.body(name, mass=1.0, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))
        builder.joint(f"to_{name}", parent=parent, child=name, type="revolute", axis=(0, 1, 0))
    found = branches_of(tree_of(builder.build()))
    assert found.joints == {2: BranchIndex(0, 0, 0), 3: BranchIndex(0, 1, 0)}
    assert branches_of(tree_of(condyle.chain(3))) == ({}, {})


# Bounds of lengths.


def test_bounds_follow_the_operations() -> None:
    """Of inputs with edges 2 and 3: sums add, products multiply, sines are 1, anything else has no bound."""
    g = Graph()
    x, y, unknown = g.input(0, 0), g.input(0, 1), g.input(1, 0)
    values = {
        x: 2.0,
        -x: 2.0,
        x + y: 5.0,
        x - y: 5.0,
        x * y: 6.0,
        -1.5 * x: 3.0,
        g.function("sin", (x,)): 1.0,
        g.function("cos", (unknown,)): 1.0,
        g.function("sin", (x,)) * y + 0.5: 3.5,
        unknown: math.inf,
        1.0 / x: math.inf,
        g.function("sqrt", (x,)): math.inf,
    }
    program = g.program("p", (Array("x", (2,)), Array("u", (1,))), (), ())
    lengths = Lengths(program, {("x", 0): 2.0, ("x", 1): 3.0})
    assert {value: lengths.size(value) for value in values} == values
    assert lengths.size(-4.5) == 4.5
    assert lengths.length((x, y, 6.0)) == 7.0


def test_rates_and_torques_along_a_joint() -> None:
    g = Graph()
    x, y = g.input(0, 0), g.input(0, 1)
    program = g.program("p", (Array("x", (2,)),), (), ())
    lengths = Lengths(program, {("x", 0): 2.0, ("x", 1): 3.0})
    one = Dof((3.0, 0.0, 4.0), (0.0, 2.0, 0.0), 0.0)  # type: ignore[arg-type]
    other = Dof((0.0, 1.0, 0.0), (0.0, 0.0, 5.0), 0.0)  # type: ignore[arg-type]
    joint = Joint(IDENTITY, (one, other), NO_BODY, axial=False)
    slide, turn = lengths.rate(joint, (x, y))
    assert slide == math.hypot(6.0, 3.0, 8.0) and turn == math.hypot(0.0, 4.0, 15.0)
    assert lengths.along(one, (10.0, 100.0)) == 2.0 * 100.0 + 5.0 * 10.0


def test_the_least_bound_is_recorded_and_negations_share_it() -> None:
    g = Graph()
    x, y = g.input(0, 0), g.input(0, 1)
    minus, total = -x, x + y
    program = g.program("p", (Array("x", (2,)),), (), ())
    lengths = Lengths(program, {})
    lengths.bound(4.0, (minus, 1.0))
    lengths.bound(5.0, x)
    lengths.bound(3.0, ((minus,),))
    lengths.bound_pair((7.0, 9.0), (total, (y, y)))
    assert lengths.upper == {minus.index: 3.0, x.index: 3.0, total.index: 7.0, y.index: 9.0}  # type: ignore[union-attr]
    with pytest.raises(ValueError, match="zip"):
        lengths.bound_pair((1.0, 2.0), (x,))


def test_moments_ascend() -> None:
    """Of the second moment diag(5, 2, 3), turned about z by 90 degrees, and of tr(S) 1 - S."""
    inertia = NO_BODY._replace(second=(2.0, 0.0, 0.0, 5.0, 0.0, 3.0))  # type: ignore[arg-type]
    assert second_moments(inertia) == [2.0, 3.0, 5.0] and turning_moments(inertia) == [5.0, 7.0, 8.0]
    coupled = inertia._replace(second=(2.0, 1.0, 0.0, 2.0, 0.0, 3.0))
    np.testing.assert_allclose(second_moments(coupled), [1.0, 3.0, 3.0], rtol=1e-14)
    skew = inertia._replace(second=(1.0, 0.0, 2.0, 9.0, 0.0, 1.0))
    np.testing.assert_allclose(second_moments(skew), [-1.0, 3.0, 9.0], rtol=1e-14)


# The loops over time of a rollout and of its gradient.

NUMBERS = {name: Port(name, (), "1", "none", "a number") for name in ("x", "u", "c", "cost", "y", "done")}
BASE = Function(
    "f", "f", "", tuple(NUMBERS[name] for name in "xuc"), tuple(NUMBERS[name] for name in ("done", "x", "cost", "y"))
)
ROLLOUT = Repeat(BASE, 5, ("x",), ("u",), 2, ("cost",))
TAKES = (Take(1), Take(every=1), Take())


def test_the_loop_of_a_rollout() -> None:
    gives = (Give(0, 2), Give(1, 2), Give(2, summed=True), Give(3, 2))
    assert time_loop(ROLLOUT) == TimeLoop(5, TAKES, gives)
    last = (Give(0), Give(1), Give(2, summed=True), Give(3))
    assert time_loop(ROLLOUT._replace(every=0)) == TimeLoop(5, TAKES, last)
    for together in (False, True):
        ends = ROLLOUT._replace(every=0, until="done", together=together)
        assert time_loop(ends) == TimeLoop(5, TAKES, (*last, Give(COUNT)), until=0, together=together)


@pytest.mark.parametrize(("every", "kept"), [(2, 2), (1, 1), (0, 5)])
def test_the_loops_of_a_gradient(every: int, kept: int) -> None:
    """Forward one step less, which stores what is carried; backward over cotangents of what was kept, or of the end."""
    forward, backward = tape(ROLLOUT._replace(every=every))
    assert forward == TimeLoop(4, TAKES, (Give(1, 1),))
    states = (Take(every=1), Take(every=1), Take())
    cotangents = (Take(every=kept), Take(0, kept), Take(), Take(every=kept))
    gives = (Give(0), Give(1, 1), Give(2, summed=True))
    assert backward == TimeLoop(5, (*states, *cotangents), gives, backwards=True)


def test_one_step_has_no_way_forward() -> None:
    assert [tape(ROLLOUT._replace(steps=steps)).forward is None for steps in (1, 2)] == [True, False]


def test_a_rollout_as_code_is_the_steps_one_after_the_other() -> None:
    robot = condyle.chain(2)
    tree, step = tree_of(robot), FUNCTIONS["step"]
    body = trace(tree, step, next(iter(step.routes)))
    function = repeat(step, 3, ("tau",), every=2)
    code = repeated(tree, function, body)
    assert [array.shape for array in code.inputs] == [(2,), (2,), (3, 2), ()]
    assert [array.shape for array in code.arrays] == [(2, 2), (2, 2)]
    q, v, dt = np.array([[0.3, -0.2]]), np.array([[0.1, 0.4]]), np.full(1, 0.01)
    tau = np.linspace(-1, 1, 6).reshape(1, 3, 2)
    found = run_repeated(code, [q, v, tau, dt])
    for k in range(3):
        q, v = run(body, [q, v, tau[:, k], dt])
        if k > 0:
            assert np.array_equal(found[0][:, k - 1], q) and np.array_equal(found[1][:, k - 1], v)
    assert sizes_of(tree, function.inputs) == [2, 2, 6, 1]
    with pytest.raises(AssertionError):
        repeated(tree, step, body)
    assert function.repeat is not None
    with pytest.raises(AssertionError):
        repeated(tree, replace(function, origin=function.repeat._replace(backwards=True)), body)
