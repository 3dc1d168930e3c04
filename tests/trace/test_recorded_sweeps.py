"""What is recorded of sweeps: kinds of joints, loops that are shared, and what they cost and store."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.backends.common.loops import layout
from condyle.functions import FUNCTIONS
from condyle.ir import loops as ir
from condyle.ir.count import count
from condyle.model.tree import tree_of
from condyle.specification.ports import F_EXT
from condyle.trace.loops import roll
from condyle.trace.recorded_steps import constants, kinds_of


def star() -> condyle.Robot:
    """A base with five branches of one revolute joint, in this order: two that differ in mass, one that is tilted, one
    with a link behind it, and the last one."""
    builder = condyle.Builder("star").body("root")
    parents = {"base": "root", "one": "base", "two": "base", "tilted": "base", "long": "base", "last": "base"}
    for name, parent in {**parents, "tip": "long"}.items():
        mass = 2.0 if name == "two" else 1.0
        builder.body(name, mass=mass, com=(0.1, 0.0, 0.0), inertia=0.01 * np.eye(3))
        rpy = (0.3, 0.2, 0.1) if name == "tilted" else (0.0, 0.0, 0.0)
        builder.joint(f"to_{name}", parent=parent, child=name, type="revolute", axis=(0, 0, 1), rpy=rpy)
    return builder.build()


def test_joints_with_the_same_steps_are_one_kind() -> None:
    tree = tree_of(star())
    kinds, numbers = kinds_of(tree)
    names = ["base", "one", "two", "tilted", "long", "tip", "last"]
    assert len(tree.links) == len(numbers) == len(names)
    assert numbers == [0, 1, 1, 2, 3, 4, 4]
    flags = [(kind.tilts, kind.is_root, kind.is_leaf, kind.is_first) for kind in kinds]
    assert flags == [
        (True, True, False, True),
        (True, False, True, False),
        (False, False, True, False),
        (True, False, False, False),
        (True, False, True, True),
    ]
    assert all(kind.carries_body and kind.type.name == "revolute" and kind.nv == 1 for kind in kinds)
    one, two = (constants(tree.links[k]) for k in (1, 2))
    differ = [k for k, (x, y) in enumerate(zip(one, two, strict=True)) if x != y]
    assert [k for k, value in enumerate(kinds[1].fixed) if value is None] == differ != []
    assert [value for value in kinds[1].fixed if value is not None] == [
        x for x, y in zip(one, two, strict=True) if x == y
    ]
    assert kinds[0].fixed == constants(tree.links[0])


def test_the_link_inside_a_universal_joint_is_no_body() -> None:
    builder = condyle.Builder("u").body("root").body("a", mass=1.0, com=(0.1, 0, 0), inertia=0.01 * np.eye(3))
    builder.joint("j", parent="root", child="a", type="universal", axis=(1, 0, 0), second_axis=(0, 1, 0))
    kinds, _ = kinds_of(tree_of(builder.build()))
    assert [kind.carries_body for kind in kinds] == [False, True]


COSTS = {
    "id": ((724, 668, 0, 4), "> > <", 62, (10, 18, 0, 205)),
    "m": ((1258, 962, 0, 4), "> < (w) >", 34, (14, 10, 6, 499)),
    "minv": ((4185, 3390, 9, 4), "> < (w>) mirror", 95, (42, 21, 6, 689)),
    "dfd": ((29222, 24081, 9, 4), "> > < > < (w) (<>) (w>) mirror", 436, (131, 28, 21, 2319)),
}
"""Of a tree with branches and joints of one to six degrees of freedom: multiplications, additions, reciprocals and
roots, angles; loops (> outward, < inward, w a walk, in columns); entries of buffers of a joint; entries of a block and
of a row that is passed on, carried ones, slots."""


def said(loop: ir.Loop) -> str:
    if isinstance(loop, ir.Columns):
        return f"({''.join(map(said_of_body, loop.body))})"
    return said_of_body(loop) if isinstance(loop, ir.Sweep) else type(loop).__name__.lower()


def said_of_body(body: ir.Sweep | ir.Walk) -> str:
    return "w" if isinstance(body, ir.Walk) else "<" if body.backward else ">"


@pytest.mark.parametrize("name", COSTS)
def test_loops_cost_and_store_no_more(name: str) -> None:
    """A step uses what an earlier one of its loop has computed, and only what another loop reads is stored."""
    tree = tree_of(condyle.random_tree(4, 9, floating_base=True))
    rolled = roll(tree, FUNCTIONS[name].taking(F_EXT))
    place = layout(rolled)
    found = (
        tuple(count(rolled)),
        " ".join(map(said, rolled.loops)),
        sum(rolled.buffers.values()),
        (place.block_width, place.passing_width, place.carry, place.size),
    )
    assert found == COSTS[name]
    assert not any(loop.upto for loop in rolled.loops if isinstance(loop, ir.Sweep))  # there is no column
