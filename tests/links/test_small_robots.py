"""Every scan of every function on robots of a few links, held to the reference: by NumPy, and as a GPU's kernels on the
interpreter."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import condyle
from benchmarks.parallel import parts
from condyle.functions import FUNCTIONS
from condyle.links.routes import ROUTES
from condyle.model.tree import tree_of
from condyle.specification.ports import F_EXT
from condyle.trace.reference import evaluate
from tests.backends.cuda.registers import check_registers
from tests.backends.cuda.simulate import simulate
from tests.laws.robots import relative, states

SERIAL = {"id": "rnea", "fd": "aba", "m": "crba", "minv": "aba", "did": "closed_form"}
SERIAL |= {"dfd": "minv+closed_form", "difd": "closed_form"}
ROUTE_NAMES = [(function.name, route) for function, routes in ROUTES.items() for route in routes]

JOINTS = {
    "limbs": (("world", "b0", "b0"), ("revolute",) * 3),
    "wrist": (("world", "b0", "b0"), ("universal", "prismatic", "revolute")),
    "fork": (("world", "b0", "b1", "b1"), ("revolute", "universal", "prismatic", "spherical")),
    "base": (("world",) * 3, ("universal", "helical", "planar")),
}
"""Parents and types."""


@cache
def robot_of(name: str) -> condyle.Robot:
    """limbs: two branches on a trunk. wrist: the same on a universal joint. fork: such a joint behind another one.
    rotors: a floating base with armature. base: all joints on the world."""
    if name == "chain":
        return condyle.chain(3, rng=1)
    if name == "rotors":
        floating = condyle.random_tree(3, 4, types=("revolute", "prismatic"), floating_base=True)
        base = replace(floating.joints[0], armature=np.array((2.0, 2.0, 2.0, 0.5, 0.6, 0.7)))
        return replace(floating, joints=(base, *floating.joints[1:]))
    builder = condyle.Builder()
    rng = np.random.default_rng(7)
    for k, (parent, type) in enumerate(zip(*JOINTS[name], strict=True)):
        builder.body(f"b{k}", mass=1.0 + k, com=rng.uniform(-0.2, 0.2, 3), inertia=np.diag((0.2, 0.3, 0.4)))
        more = {"helical": {"pitch": 0.3}, "universal": {"second_axis": (0.0, 1.0, 0.0), "axis": (1.0, 0.0, 0.0)}}
        place = {"xyz": rng.uniform(-0.5, 0.5, 3), "rpy": rng.uniform(-1.0, 1.0, 3)}
        builder.joint(f"j{k}", parent=parent, child=f"b{k}", type=type, **place, **more.get(type, {}))
    return builder.build()


def inputs_of(name: str, function: str, n: int) -> tuple[condyle.specification.Function, dict[str, np.ndarray]]:
    """With external forces where the function takes them."""
    robot, some = robot_of(name), states(robot_of(name), n)
    inverse = robot.compile("numpy").mass_matrix_inverse(some.q).reshape(n, -1)
    known = {"q": some.q, "v": some.v, "a": some.a, "tau": some.a, "Minv": inverse}
    known["f_ext"] = some.f_ext.reshape(n, -1)
    forced = FUNCTIONS[function].taking(F_EXT)
    return forced, {port.name: known[port.name] for port in forced.inputs}


@pytest.mark.parametrize(("function", "route"), ROUTE_NAMES)
@pytest.mark.parametrize("name", ["chain", "fork", "rotors", "base"])
def test_numpy_scans_what_the_reference_computes(name: str, function: str, route: str) -> None:
    robot = robot_of(name)
    forced, inputs = inputs_of(name, function, 2)
    scan = robot.compile("numpy", links="scan", routes={function: route})
    assert f"{route}, scanned" in scan.kernel(forced).description
    shaped = [x.reshape(2, *port.shape(scan.sizes)) for port, x in zip(forced.inputs, inputs.values(), strict=True)]
    found = scan.call(forced, shaped)
    expected = evaluate(tree_of(robot), forced, SERIAL[function], inputs)
    for one, two in zip(found, expected, strict=True):
        assert relative(one.reshape(2, -1), np.asarray(two).reshape(2, -1)) < 1e-12
    if function in ("m", "minv"):
        np.testing.assert_array_equal(found[0], found[0].swapaxes(-1, -2))


@pytest.mark.parametrize(
    ("name", "function"),
    [
        *(("wrist", one) for one in ("did", "dfd", "difd")),
        *(("fork", one) for one in ("id", "fd", "m")),
        ("chain", "fd"),
    ],
)
def test_lanes_compute_the_same(name: str, function: str) -> None:
    """Two states, which share a warp."""
    robot = robot_of(name)
    forced, inputs = inputs_of(name, function, 2)
    made = parts(tree_of(robot), forced, "float64")
    found = simulate(made, list(inputs.values()))
    expected = evaluate(tree_of(robot), forced, SERIAL[function], inputs)
    for one, two in zip(found, expected, strict=True):
        assert relative(one, np.asarray(two).reshape(2, -1)) < 1e-11
    for launch in made.launches:
        (text,) = launch.texts
        check_registers(text.ptx)
