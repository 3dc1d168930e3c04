"""Options of compile, one by one: what each takes, becomes and refuses, in the words of its message."""

from __future__ import annotations

from inspect import Parameter, Signature
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, ShapeError, UnsupportedError
from condyle.compile import options
from condyle.compile.options import (
    bound_arguments,
    bound_of,
    check_bound,
    check_driven,
    check_ports,
    checked_route,
    compile_options,
    drives_of,
    numbers_of,
    opened_by,
    positive,
    routes_of,
    tip_frame,
    whole,
    words_of,
)
from condyle.derivatives import derivative
from condyle.functions import FUNCTIONS, function_of
from condyle.functions.repeat import iterate, repeat
from condyle.model.tree import tree_of
from condyle.specification import UNBOUND, Function, Port
from tests.refusals import refuses

ARM = condyle.chain(2, rng=0)
TIP = [*ARM.frames][-1]
POINT = Contact(TIP, "point")
DRIVEN = condyle.chain(2, rng=0).with_drives(
    {name: condyle.Drive(damping=2.0, friction=3.0) for name in ARM.joint_names}
)


@pytest.mark.parametrize(
    ("value", "least", "number"), [(0, 0, 0), (1, 1, 1), (np.int8(7), 1, 7), (np.uint64(1 << 30), 0, 1 << 30)]
)
def test_whole_numbers_of_any_kind_become_ints(value: Any, least: int, number: int) -> None:
    found = whole("n", value, least)
    assert found == number and type(found) is int


@pytest.mark.parametrize(
    ("value", "numbers"),
    [
        (0, "from 1 on"),
        (-3, "from 1 on"),
        (True, "from 1 on"),
        (1.0, "from 1 on"),
        ("1", "from 1 on"),
        (None, "from 1 on"),
        ((1 << 30) + 1, "from 1 to 1073741824"),
    ],
)
def test_what_is_no_whole_number_in_range_is_refused(value: Any, numbers: str) -> None:
    refuses(f"n={value!r}: give a whole number {numbers}", lambda: whole("n", value, 1))
    refuses(f"n={value!r}: give a whole number {numbers}, or 'all'", lambda: whole("n", value, 1, "'all'"))


def test_numbers_above_0() -> None:
    assert positive("x", (1, 2.5), 2) == (1.0, 2.5) and positive("x", np.array([1e-300]), 1) == (1e-300,)
    for values, said in (
        ((0.0,), "x=0.0: give a number above 0"),
        ((-1.0,), "x=-1.0: give a number above 0"),
        ((np.inf,), "x=inf: give a number above 0"),
        ((np.nan,), "x=nan: give a number above 0"),
        (("a",), "x='a': give a number above 0"),
        ((None,), "x=None: give a number above 0"),
    ):
        refuses(said, lambda values=values: positive("x", values, 1))
    for value, said in (
        ((1.0, 2.0), "x=(1.0, 2.0): give 3 numbers above 0"),
        ([1.0, 2.0, 0.0], "x=(1.0, 2.0, 0.0): give 3 numbers above 0"),
        ([1.0, 2.0, "a"], "x=(1.0, 2.0, 'a'): give 3 numbers above 0"),
        (7, "x=7: give 3 numbers above 0"),
    ):
        refuses(said, lambda value=value: positive("x", value, 3))  # type: ignore[arg-type]


def test_words_come_in_the_order_of_those_that_are_allowed() -> None:
    allowed = ("a", "b", "c")
    assert words_of("x", ["c", "a", "c"], allowed) == ("a", "c")
    assert words_of("x", "b", allowed) == ("b",) and words_of("x", (), allowed) == ()
    for value, wrong in ((["a", "d"], "d"), (3, 3), ("ab", "ab"), (None, None)):
        refuses(f"x={wrong!r}: allowed is 'a', 'b', 'c'", lambda value=value: words_of("x", value, allowed))  # type: ignore


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"frames": "a"}, "frames='a': give a list of names, such as ('a',)"),
        ({"frames": 3}, "frames=3: give a list of names, such as (3,)"),
        ({"frames": (3,)}, "frames: 3 is no name: give text, a name of robot.frames"),
        ({"frames": ("link",)}, "frames: there is no frame 'link'..."),
        ({"force_frame": "world"}, "force_frame='world': allowed is 'local', 'local_world_aligned'"),
        ({"reference_frame": "body"}, "reference_frame='body': allowed is 'local', 'world', 'local_world_aligned'"),
        ({"integrator": "leap"}, "integrator='leap': allowed is 'semi_implicit_euler', 'rk4', 'euler'"),
        ({"actuators": 1}, "actuators=1: give True or False"),
        ({"joint_rows": "yes"}, "joint_rows='yes': give True or False"),
        ({"implicit": "speeds"}, "implicit='speeds': give 'positions', True or False"),
        ({"friction_velocity": 0.0}, "friction_velocity=0.0: give a number above 0"),
        ({"stops": (1.0, 2.0)}, "stops=(1.0, 2.0): give 3 numbers above 0"),
        ({"sweeps": 0}, "sweeps=0: give a whole number from 1 on, or None for iterations until it is solved"),
        (
            {"actuators": True},
            "actuators=True: robot 'chain' has no actuators; robot.with_actuators(...",
        ),
        (
            {"joint_rows": True, "joint_forces": "damping"},
            (
                "joint_rows=True: joint_forces='damping' has neither; give joint_forces=('friction', 'limits') or one "
                "of them, which become rows of contact_solve"
            ),
        ),
        (
            {"implicit": "positions", "integrator": "rk4"},
            (
                "implicit='positions', integrator='rk4': positions at the end of a step need "
                "integrator='semi_implicit_euler', whose q moves with the v of the end"
            ),
        ),
    ],
)
def test_options_that_say_nothing_are_refused(change: dict[str, Any], said: str) -> None:
    refuses(said, lambda: bound_of(ARM, **change))


def test_options_are_kept_as_they_are_said() -> None:
    bound = bound_of(
        ARM, [TIP], "world", "local_world_aligned", "rk4", [POINT], sweeps=np.int8(3), regressor="friction"
    )  # type: ignore
    assert bound[:7] == ((TIP,), "world", "local_world_aligned", "rk4", (POINT,), ("friction",), 3)
    assert bound_of(ARM) == UNBOUND and bound_of(ARM, sweeps=1).sweeps == 1
    assert bound_of(ARM, contacts=None).contacts == ARM.contacts == ()


def test_the_numbers_of_what_acts_beside_tau() -> None:
    plain = bound_of(DRIVEN, friction_velocity=0.5, stops=(1, 2, 3), implicit=True).drives
    assert plain == UNBOUND.drives._replace(friction_velocity=0.5, stops=(1.0, 2.0, 3.0), implicit=True)
    drives = bound_of(DRIVEN, joint_forces=("limits", "damping")).drives
    assert drives.forces == ("damping", "limits")
    assert (drives.damping, drives.friction, drives.stiffness) == ((2.0, 2.0), (3.0, 3.0), (0.0, 0.0))
    assert (drives.lower, drives.upper) == (tuple(DRIVEN.lower.tolist()), tuple(DRIVEN.upper.tolist()))
    assert (drives.actuators, drives.effort) == ((), ())
    assert bound_of(DRIVEN, joint_forces="all").drives.forces == ("damping", "friction", "springs", "limits")
    floating = condyle.random_tree(2, 3, floating_base=True)
    drives = drives_of(floating, ("limits",), False, 1.0, (1.0, 1.0, 1.0), False, False)
    assert drives.lower[:6] == (-np.inf,) * 6 and drives.upper[:6] == (np.inf,) * 6


def test_actuators_bring_their_limits_and_those_of_joints() -> None:
    robot = condyle.chain(2, rng=0).with_actuators((condyle.Actuator("a", {ARM.joint_names[1]: 1.0}),))
    drives = bound_of(robot, actuators=True).drives
    assert len(drives.actuators) == 1 and drives.effort == tuple(robot.effort.tolist()) and drives.forces == ()
    own = numbers_of(robot, (), "float32", (), drives)
    assert [(name, x.tolist(), x.dtype.name) for name, x in own.items()] == [("u", [0.0], "float32")]
    assert bound_of(robot).drives == UNBOUND.drives


def test_options_of_compile_are_read_back() -> None:
    for said in (
        {},
        {"frames": (TIP,), "reference_frame": "world", "sweeps": 2, "regressor": ("damping",)},
        {"contacts": (POINT,), "joint_forces": ("damping", "friction"), "joint_rows": True},
        {"friction_velocity": 0.5, "stops": (1.0, 2.0, 3.0), "implicit": "positions", "force_frame": "local"},
    ):
        bound = bound_of(DRIVEN, **said)  # type: ignore[arg-type]
        again = compile_options(bound)
        assert bound_of(DRIVEN, **again) == bound
        assert {name: again[name] for name in said} == said
        assert again["actuators"] is False and again["implicit"] == said.get("implicit", UNBOUND.drives.implicit)


def test_numbers_of_the_robot_become_inputs() -> None:
    own = numbers_of(DRIVEN, ("dry_friction", "gravity", "gaps", "normals"), "float32", (POINT,))
    assert {name: x.dtype.name for name, x in own.items()} == dict.fromkeys(own, "float32")
    assert set(own) == {"gravity", "dry_friction", "active", "gaps", "normals"} and own["active"].tolist() == [1.0]
    assert own["gaps"].tolist() == [0.0] and own["dry_friction"].tolist() == [3.0, 3.0]
    np.testing.assert_array_equal(own["gravity"], np.float32(DRIVEN.gravity))
    assert numbers_of(ARM, "gravity", "float64").keys() == {"gravity"} and numbers_of(ARM, (), "float64") == {}


@pytest.mark.parametrize("inputs", [3, ("gravity", "gravity"), ("mass",), ("gaps",), "u", ("actuator_gains",)])
def test_what_is_no_number_of_the_robot_is_refused(inputs: Any) -> None:
    refuses(f"inputs={inputs!r}: give some of 'inertias'...", lambda: numbers_of(ARM, inputs, "float64"))


def test_a_contact_is_drawn_back_to_an_anchor_that_is_said() -> None:
    loose = Contact(TIP, "point", gains=(100.0, 2.0))
    said = f"{loose.title}: kp=100 draws it back to its anchor, which is not known: give anchor=, or "
    refuses(f"{said}compile(inputs=('anchors',)) and one a state", lambda: numbers_of(ARM, (), "float64", (loose,)))
    assert "anchors" in numbers_of(ARM, ("anchors",), "float64", (loose,))
    for fine in (Contact(TIP, "point", gains=(0.0, 2.0)), POINT):
        assert "anchors" not in numbers_of(ARM, (), "float64", (fine,))


def test_the_tip_is_the_last_frame_of_the_last_body() -> None:
    frames = {name: SimpleNamespace(body=body) for name, body in (("a", 1), ("b", 2), ("c", 2), ("d", 0))}
    assert tip_frame(frames) == "c"  # type: ignore[arg-type]


def test_calls_say_what_they_take() -> None:
    either = Parameter.POSITIONAL_OR_KEYWORD
    names = [Parameter("self", either), Parameter("tau", either), Parameter("out", either, default=None)]
    signature = Signature([*names, Parameter("gravity", Parameter.KEYWORD_ONLY, default=None)])
    assert bound_arguments("f", signature, (1, 2), {"gravity": 3}) == {"self": 1, "tau": 2, "gravity": 3}
    for args, named, cure, said in (
        ((1,), {}, "", "f: missing a required argument: 'tau'; call f(tau, out=None)"),
        (
            (1,),
            {"taw": 2},
            "!",
            "f: got an unexpected keyword argument 'taw' (did you mean 'tau'?); call f(tau, out=None)!",
        ),
        ((1, 2), {"zzz": 2}, "", "f: got an unexpected keyword argument 'zzz'; call f(tau, out=None)"),
        ((1, 2), {"tau": 2}, "", "f: multiple values for argument 'tau'; call f(tau, out=None)"),
        ((1, 2, 3, 4), {}, "", "f: too many positional arguments; call f(tau, out=None)"),
    ):
        refuses(said, lambda a=args, n=named, c=cure: bound_arguments("f", signature, a, n, c), TypeError)


def test_a_number_that_is_no_argument_is_told_how_it_becomes_one() -> None:
    assert opened_by(None) == ""
    assert opened_by("u") == "; compile(actuators=True) takes u in place of tau"
    assert opened_by("active") == "; compile(contacts=...) makes active an argument"
    assert opened_by("gravity") == "; compile(inputs=('gravity',)) makes gravity an argument"


def test_routes_are_named_once_each() -> None:
    assert routes_of(None) == routes_of({}) == {}
    assert routes_of({"fd": "aba"}) == {FUNCTIONS["fd"]: "aba"}
    refuses("routes='aba': name the function too, such as {'fd': 'aba'}", lambda: routes_of("aba"))  # type: ignore
    refuses("routes: there is no function 'ik'; there are id, fd, m...", lambda: routes_of({"ik": "aba"}))
    twice = {"fd": "aba", "forward_dynamics": "ltl"}
    refuses(f"routes={twice!r}: a function is named twice, give each one route", lambda: routes_of(twice))


def test_a_route_is_one_of_the_function_and_serves_the_robot() -> None:
    tree = tree_of(ARM)
    assert checked_route(tree, FUNCTIONS["fd"], "aba") == "aba"
    said = "routes: 'fd' has no route {} for a robot; it has ltl, aba, minv"
    for route in ("guess", ["aba"]):
        refuses(said.format(repr(route)), lambda route=route: checked_route(tree, FUNCTIONS["fd"], route))
    unknown = Function("ours", "ours", "", (), ())
    refuses("routes: there is no function 'ours'; there are id, fd...", lambda: checked_route(tree, unknown, "aba"))


def test_native_calls_take_64_arrays_a_side() -> None:
    def ports(n: int) -> tuple[Port, ...]:
        return tuple(Port(f"x{k}", (), "1", "none", "") for k in range(n))

    check_ports(Function("f", "f", "", ports(64), ports(64)))
    more = "name fewer in compile(inputs=), take vjp, jacobian or hessian in place of one jvp, or compile('numpy')"
    for n, m, what in ((65, 1, "inputs"), (1, 65, "outputs")):
        said = f"f: 65 {what}, and native calls take 64. Every jvp has twice the inputs of its function: {more}"
        refuses(said, lambda n=n, m=m: check_ports(Function("f", "f", "", ports(n), ports(m))))


@pytest.mark.parametrize(
    ("name", "bound", "said"),
    [
        (
            "fk",
            {},
            (
                f"frame_placements: no frames were named when the robot was compiled; compile(frames=({TIP!r},)) names "
                f"one, as does --frames {TIP} of a command. This robot has {', '.join(map(repr, ARM.frames))}"
            ),
        ),
        (
            "cfd",
            {},
            (
                "constrained_forward_dynamics: the robot has no contacts; "
                f"compile(contacts=(condyle.Contact({TIP!r}, 'point'),)) gives it one"
            ),
        ),
        (
            "fa",
            {"frames": (TIP,), "reference_frame": "world"},
            (
                "frame_accelerations has no meaning with reference_frame='world'; compile with 'local' or "
                "'local_world_aligned'"
            ),
        ),
        (
            "jf",
            {},
            (
                "joint_forces: the robot was compiled without joint forces; compile(joint_forces=('all',)) has all "
                "that the robot has; allowed is 'damping', 'friction', 'springs', 'limits', 'all'"
            ),
        ),
        (
            "cfric",
            {"contacts": (POINT, Contact("link0", "plane"))},
            "contact_solve: contact 1 is of kind 'plane', which has no friction cone; give contacts of kind...",
        ),
    ],
)
def test_functions_say_which_option_they_need(name: str, bound: dict[str, Any], said: str) -> None:
    tree = tree_of(ARM, bound_of(ARM, **bound))
    refuses(said, lambda: check_bound(tree, FUNCTIONS[name], ARM.frames))


def test_eight_frames_are_shown_and_no_more() -> None:
    for count, more in ((8, ""), (9, " and more")):
        frames = {f"f{k}": SimpleNamespace(body=0) for k in range(count)}
        shown = ", ".join(repr(f"f{k}") for k in range(8))
        with pytest.raises(UnsupportedError, match=rf"This robot has {shown}{more}$"):
            check_bound(tree_of(ARM), FUNCTIONS["fk"], frames)  # type: ignore[arg-type]


def test_actuators_and_rows_of_joints_are_asked_for() -> None:
    driven = FUNCTIONS["fd"].taking("u")
    said = "f: the robot was compiled without {}; compile{}"
    cure = "(actuators=True) takes those of robot.actuators, and u in place of tau"
    refuses(said.format("actuators", cure), lambda: check_driven("f", UNBOUND.drives, driven))
    refuses("f: the robot was compiled without actuators; call(actuators=True)...",
            lambda: check_driven("f", UNBOUND.drives, driven, "call"))  # fmt: skip
    rows = FUNCTIONS["cfric"].taking("joint_impulse0")
    cure = "(joint_forces=('friction', 'limits'), joint_rows=True) has those that joint_impulse0 begins"
    refuses(said.format("joint rows", cure), lambda: check_driven("f", UNBOUND.drives, rows))
    check_driven("f", UNBOUND.drives._replace(joint_rows=True), rows)
    check_driven("f", UNBOUND.drives._replace(forces=("damping",)), FUNCTIONS["jf"])


def test_a_step_carries_what_has_the_shape_of_its_input() -> None:
    f = condyle.function(lambda x: {"x": x[:2], "done": x[0]}, {"x": 3}).specification  # type: ignore[attr-defined]
    cure = "the next step takes what a step answers; give both one shape, or the output another name"
    shapes = f"output x has shape (2,), input x has shape (3,): {cure}"
    for function, call in ((repeat(f, 2), "rollout"), (iterate(f, 2), "iterate")):
        refuses(f"{call} of {f.method}: {shapes}", lambda of=function: check_bound(tree_of(ARM), of, {}), ShapeError)
    check_bound(tree_of(ARM), repeat(function_of("step"), 2, ("tau",)), {})


def test_a_robot_without_mass_has_no_center_of_it() -> None:
    tree: Any = SimpleNamespace(
        contacts=(), drives=UNBOUND.drives, frames=(), reference_frame="local", links=(1,), mass=1.0
    )
    center = FUNCTIONS["com"]
    check_bound(tree, center, {})
    tree.mass = 0.0
    called = f"{center.called}: "
    refuses(f"{called}the moving bodies have no mass; give some of them mass", lambda: check_bound(tree, center, {}))
    tree.links = ()
    for tree.mass in (0.0, 1.0):
        refuses(f"{called}no body of the robot moves", lambda: check_bound(tree, center, {}))
    check_bound(tree, FUNCTIONS["id"], {})


def test_derivatives_need_what_their_functions_do() -> None:
    assert options.unbound(tree_of(ARM), derivative("vjp", FUNCTIONS["cfd"])) == "contacts"
    assert options.unbound(tree_of(ARM), FUNCTIONS["fk"]) == "frames"
    assert options.unbound(tree_of(ARM), FUNCTIONS["fd"]) == ""
