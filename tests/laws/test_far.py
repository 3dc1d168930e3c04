"""What does not depend on where a robot is, where it is far from the world's origin; and positions, which do.

A law of every function: its answer is the same wherever the base is, but for the outputs that `moved_by` names.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from condyle import Builder, Contact, Dynamics, Robot
from condyle.backends.cuda.target import TARGET
from condyle.functions import AUXILIARY, FUNCTIONS, function_of
from condyle.model.builder import random_body
from condyle.model.physical import contact_numbers, varied
from condyle.model.placement import Placement
from condyle.model.tree import tree_of
from condyle.specification import Bound, Port
from condyle.trace.straight import sizes
from tests.backends.cuda.simulate import made, simulate
from tests.laws.robots import Array, relative
from tests.processor import slow

N = 4
SHIFT = (1e4, -1e4, 0.5)
"""Of the base [m]; like all places of bases and anchors here it is exact in float32, and so is every sum of them."""
ALLOWED = {"float32": 5e-5, "float64": 2e-12}
"""Relative to the largest entry. About the world's origin float32 would lose 1e-3, float64 some 1e-12."""
HERE = (0.25, -0.5, 0.125)
PLACES = (HERE, (0.25, 0.5, 0.0))
FRAMES = ("local", "local_world_aligned")


class Case(NamedTuple):
    """A robot, and the same elsewhere: by other placements, or by entries of q from the first one on. shift (3,)."""

    near: Robot
    far: Robot
    entries: tuple[float, ...] = ()
    shift: tuple[float, float, float] = SHIFT


def arm(builder: Builder, root: str, seed: int = 4) -> Builder:
    """A hinge on a body, behind it a hinge with a ball and a slide beside it."""
    rng, name = np.random.default_rng(seed), f"{root}_{{}}".format
    joints = (("a", root, "revolute"), ("b", name("a"), "revolute"), ("c", name("a"), "prismatic"))
    for i, (child, parent, kind) in enumerate((*joints, ("d", name("b"), "spherical"))):
        body = random_body(name(child), rng)
        builder.body(body.name, mass=body.mass, com=body.com, inertia=body.inertia)
        place = {"xyz": rng.uniform(-0.3, 0.3, 3), "rpy": rng.uniform(-1.0, 1.0, 3)}
        axis = None if kind == "spherical" else (0.6, 0.0, 0.8) if i else (0.0, 1.0, 0.0)
        builder.joint(name(child), parent=parent, child=name(child), type=kind, axis=axis, armature=0.01, **place)
    return builder


def on(kind: str, *places: tuple[float, float, float]) -> Robot:
    """For each place a body on the world with a joint of this type along x, and an arm on it."""
    builder = Builder(kind)
    for k, place in enumerate(places):
        builder.body(f"root{k}", mass=1.0, com=(0.1, 0.2, 0.0), inertia=0.1 * np.eye(3))
        axis = None if kind in ("free", "translation") else (1.0, 0.0, 0.0)
        builder.joint(f"root{k}", parent="world", child=f"root{k}", type=kind, axis=axis, xyz=place)
        arm(builder, f"root{k}", 4 + k)
    return builder.build()


def gantry() -> Robot:
    """An arm on a hinge on two slides without mass, as moving bases are often written."""
    builder = Builder("gantry")
    parent = "world"
    for name, kind, axis in zip(("x", "y", "root0"), ("prismatic", "prismatic", "revolute"), np.eye(3), strict=True):
        mass = float(name == "root0")
        builder.body(name, mass=mass, com=(0.1 * mass, 0.0, 0.0), inertia=0.1 * mass * np.eye(3))
        builder.joint(name, parent=parent, child=name, type=kind, axis=axis, xyz=HERE)
        parent = name
    return arm(builder, "root0").build()


def on_slide() -> Robot:
    """A chain of twelve links; the first one slides."""
    builder, rng = Builder("chain"), np.random.default_rng(8)
    parent = "world"
    for k in range(12):
        body = random_body(f"root{k}", rng)
        builder.body(body.name, mass=body.mass, com=body.com, inertia=body.inertia)
        kind, axis = ("revolute", (0.0, 1.0, 0.0)) if k else ("prismatic", (1.0, 0.0, 0.0))
        builder.joint(body.name, parent=parent, child=body.name, type=kind, axis=axis, xyz=(0.0, 0.0, 0.25))
        parent = body.name
    return builder.build()


def there(*place: float) -> tuple[float, float, float]:
    x, y, z = (one + more for one, more in zip(place, SHIFT, strict=True))
    return x, y, z


def moving(robot: Robot, *entries: float, shift: tuple[float, float, float] = SHIFT) -> Case:
    return Case(robot, robot, entries, shift)


CASES: dict[str, Callable[[], Case]] = {
    "floating": lambda: moving(on("free", HERE), *SHIFT),
    "placed": lambda: Case(on("revolute", (0.0, 0.0, 0.0)), on("revolute", SHIFT)),
    "two arms": lambda: Case(on("revolute", *PLACES), on("revolute", *(there(*place) for place in PLACES))),
    "gantry": lambda: moving(gantry(), 1e4, -1e4, shift=(1e4, -1e4, 0.0)),
    "prismatic": lambda: moving(on("prismatic", HERE), 1e4, shift=(1e4, 0.0, 0.0)),
    "planar": lambda: moving(on("planar", HERE), 1e4, -1e4, shift=(0.0, 1e4, -1e4)),
    "chain": lambda: moving(on_slide(), 1e4, shift=(1e4, 0.0, 0.0)),
    "translation": lambda: moving(on("translation", HERE), *SHIFT),
    "cylindrical": lambda: moving(on("cylindrical", HERE), 1e4, shift=(1e4, 0.0, 0.0)),
}
QUICK = ("floating", "placed", "two arms", "gantry")
DERIVED = ("vjp_h", "vjp_fk", *(f"jacobian_{name}" for name in ("h", "dh", "cmm", "com", "jac", "fk")))
OPENED = ("com_inertias", "h_inertias", "cmm_inertias", "dh_inertias")
FORCED = tuple(f"{name}_f_ext" for name, one in FUNCTIONS.items() if one.takes_f_ext)
OF_BODIES = tuple(name for name, one in FUNCTIONS.items() if not one.needs.drives)
EVERY = (*OF_BODIES, *AUXILIARY, *DERIVED, *OPENED, *FORCED)
LONG = ("dstep", "dcfd", "dcfd_f_ext", "dcres", *(name for name in DERIVED if name.startswith("jacobian")))
"""Quick in float32, which sees a place by twenty times what is allowed."""


def marked(name: str, function: str) -> object:
    """Quick, or slow: matrices are quick of one robot alone."""
    quick = name == QUICK[0] if function in LONG else name in QUICK and function != "dstep_f_ext"
    return (name, function) if quick else slow(name, function)


LAW = [
    marked(name, function)
    for name in CASES
    for function in EVERY
    if name != "chain" and (name, function) not in [("gantry", one) for one in OPENED]  # its slides would have mass
]
MOMENTA = ("com", "h", "dh", "cmm")
TARGETS = [("floating", one) for one in (*MOMENTA, "jac", "djac", "cjac", "cerr", "vjp_h")] + [("two arms", "h")]
MORE = [(name, one) for name in ("floating", "two arms") for one in OF_BODIES if (name, one) not in TARGETS]
OTHERS = [
    *(("cpu", *one) for one in TARGETS),
    *(slow("c", *one) for one in TARGETS),  # gcc takes longer, and reads the same Program
    *(slow("cpu", *one) for one in MORE),
]
GPU = [*MOMENTA, *(slow(one) for one in OF_BODIES if one not in (*MOMENTA, *LONG, "kkt"))]  # these: up to 40 s each
SCANS = [(name, one) for name in ("chain", "floating") for one in ("id", "fd", "m", "did")]
SCANS += [("gantry", one) for one in ("id", "m", "did")]  # a body without mass makes no element of fd's scan


@cache
def case_of(name: str) -> Case:
    return CASES[name]()


@cache
def contacts_of(function: str, shift: tuple[float, float, float]) -> tuple[Contact, ...]:
    """A point held in the world, which its gains draw to its anchor, and two bodies held together."""
    known = function_of(function)
    if "contacts" not in known.options:
        return ()
    x, y, z = (one + more for one, more in zip((0.5, 0.75, -0.25), shift, strict=True))
    off = Placement.from_rpy((0.1, -0.2, 0.15), (0.3, 0.2, -0.4))
    kind = "line" if not known.needs.contact_kinds or "line" in known.needs.contact_kinds else "point"
    world = Contact("root0_c", "point", gains=(10.0, 1.0), anchor=Placement.from_rpy((x, y, z), (0.0, 0.0, 0.0)))
    return world, Contact("root0_d", kind, "root0_a", off, (10.0, 1.0), Placement.from_rpy((0.1, 0.0, 0.0), (0.0,) * 3))


def bound(name: str, function: str, frame: str, far: bool) -> Bound:
    shift = case_of(name).shift if far else (0.0, 0.0, 0.0)
    frames = ("root0", "root0_a", "root0_d", "root0_c") if "frames" in function_of(function).options else ()
    return Bound(frames, frame, force_frame=frame, contacts=contacts_of(function, shift))


@cache
def dynamics(name: str, far: bool, target: str, dtype: str, bound: Bound, links: str = "serial") -> Dynamics:
    case = case_of(name)
    options = {key: getattr(bound, key) for key in ("frames", "reference_frame", "force_frame", "contacts")}
    return (case.far if far else case.near).compile(target=target, dtype=dtype, links=links, **options)


@cache
def inputs(name: str, function: str, far: bool) -> tuple[Array, ...]:
    """What a function takes, float64, with values that float32 has too."""
    case, rng = case_of(name), np.random.default_rng(3)
    tree = tree_of(case.near, bound(name, function, "local", far=False))
    numbers = contact_numbers(len(tree.contacts), N, rng) | varied(case.near, N, rng)

    def drawn(port: Port) -> Array:
        if port.is_configuration:
            q = case.near.random_state(N, 7 + len(port.name)).q.astype(np.float32).astype(np.float64)
            q[:, : len(case.entries)] = np.float64(case.entries) * far + 0.25 * (port.name == "q1")
            return q
        if port.given_by:
            found = dynamics(name, False, "numpy", "float64", bound(name, function, "local", False))
            return np.asarray(found.call(port.given_by, inputs(name, port.given_by, False))[0])
        if port.name == "dt":
            return np.full(N, 0.0078125)
        return numbers[port.name] if port.name in numbers else rng.uniform(-1.0, 1.0, (N, *port.shape(sizes(tree))))

    return tuple(drawn(port) for port in function_of(function).inputs)


def moved_by(name: str, port: Port, want: Array) -> Array:
    """How an output changes with the shift: positions, and the energy that depends linearly on them."""
    case = case_of(name)
    shift = np.array(case.shift)
    change = np.zeros_like(want)
    if port.name in ("translation", "com"):
        change += shift
    elif port.name == "potential_energy":
        change -= case.near.mass * (shift @ case.near.gravity)
    elif port.is_configuration:
        change[:, : len(case.entries)] = case.entries
    return change


def check(name: str, function: str, frame: str, dtype: str, near: list[Array], far: list[Array]) -> None:
    """Positions move with the base; of a base that q moves, all else keeps its bits, but for errors of anchors."""
    for port, one, other in zip(function_of(function).outputs, near, far, strict=True):
        change = moved_by(name, port, np.asarray(one, np.float64))
        assert np.isfinite(other).all()
        if change.any():
            most = 4.0 * float(np.finfo(dtype).eps) * np.abs(one + change).max()
            assert np.abs(other - (one + change)).max() < most, (port.name, frame, dtype)
        elif case_of(name).near is case_of(name).far and "contacts" not in function_of(function).options:
            assert np.array_equal(one, other), (port.name, frame, dtype)
        else:
            assert relative(other, one) < ALLOWED[dtype], (port.name, frame, dtype)


def compare(name: str, function: str, target: str, dtypes: tuple[str, ...], links: str = "serial") -> None:
    """Of both places, in both reference frames in which a function is compiled."""
    depends = {"reference_frame", "force_frame"} & set(function_of(function).options)
    for frame in FRAMES if depends else FRAMES[:1]:
        for dtype in dtypes:
            check(name, function, frame, dtype, *answers(name, function, frame, target, dtype, links))


def answers(name: str, function: str, frame: str, target: str, dtype: str, links: str) -> list[list[Array]]:
    """At both places, in one call where the same functions serve both."""
    case, bounds = case_of(name), [bound(name, function, frame, far) for far in (False, True)]
    both = [[np.asarray(x, dtype) for x in inputs(name, function, far)] for far in (False, True)]
    dyn = [dynamics(name, bool(far), target, dtype, bounds[far], links) for far in range(2)]
    if case.near is case.far and bounds[0] == bounds[1]:
        together = dyn[0].call(function, [np.concatenate(pair) for pair in zip(*both, strict=True)])
        return [[np.asarray(x)[rows] for x in together] for rows in (slice(N), slice(N, None))]
    return [[np.asarray(x) for x in one.call(function, given)] for one, given in zip(dyn, both, strict=True)]


@pytest.mark.parametrize(("name", "function"), LAW)
def test_nothing_but_positions_depends_on_where_the_base_is(name: str, function: str) -> None:
    compare(name, function, "numpy", ("float32",) if function in LONG else ("float32", "float64"))


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name != "chain"])
@pytest.mark.parametrize("function", LONG)
def test_long_functions_in_float64(name: str, function: str) -> None:
    compare(name, function, "numpy", ("float64",))


@pytest.mark.parametrize(("target", "name", "function"), OTHERS)
def test_nor_does_it_on_other_targets(target: str, name: str, function: str) -> None:
    compare(name, function, target, ("float32", "float64"))


@pytest.mark.parametrize("function", GPU)
def test_nor_does_it_in_kernels_of_a_gpu(function: str) -> None:
    case, answers = case_of("floating"), []
    bounds = [bound("floating", function, FRAMES[0], far) for far in (False, True)]
    for far, fixed in enumerate(bounds):
        what = made(case.near, function, 32, target=TARGET, frames=fixed.frames, contacts=fixed.contacts)
        given = [np.reshape(x, (N, -1)) for x in inputs("floating", function, bool(far))]
        answers.append(simulate(what, given))
    shapes = [port.shape(sizes(tree_of(case.near, bounds[0]))) for port in function_of(function).outputs]
    shaped = [[np.reshape(x, (N, *shape)) for x, shape in zip(each, shapes, strict=True)] for each in answers]
    check("floating", function, FRAMES[0], "float32", *shaped)


@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize(("name", "function"), SCANS)
def test_nor_does_it_where_links_are_parallel(name: str, function: str, target: str) -> None:
    compare(name, function, target, ("float32", "float64"), links="scan")
