"""Entries that packed arrays leave out are zero in every state, and those they mirror are equal."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle import Robot
from condyle.functions import FUNCTIONS, quantities
from condyle.model.tree import tree_of
from condyle.specification.ports import F_EXT
from condyle.trace.straight import layout_of

ROBOTS = [
    *((seed, floating, "all") for seed in range(6) for floating in (False, True)),
    *((seed, False, "single") for seed in range(6)),
]


def made(seed: int, floating: bool, types: str) -> Robot:
    if types == "all":
        return condyle.random_tree(9, seed, floating_base=floating)
    return condyle.random_tree(9, seed, types=("revolute", "prismatic"))


@pytest.mark.parametrize(("seed", "floating", "types"), ROBOTS)
def test_zeros_and_mirrors_hold(seed: int, floating: bool, types: str) -> None:
    robot = made(seed, floating, types)
    dyn, tree = robot.compile("numpy"), tree_of(robot)
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(5, rng)
    known = {
        "f_ext": rng.uniform(-1, 1, (5, len(robot.bodies), 6)),
        "q": q,
        "v": v,
        "a": v[::-1],
        "tau": v[::-1],
        "Minv": dyn.mass_matrix_inverse(q),
    }
    left_out = 0
    for name in ("m", "minv", "did", "dfd", "difd"):
        function = FUNCTIONS[name].taking(F_EXT)
        arrays = dyn.call(function, [known[port.name] for port in function.inputs])
        for port, array in zip(function.outputs, arrays, strict=True):
            layout = layout_of(tree, port, 8)
            rows = np.reshape(array, (5, -1))
            scale = np.abs(rows).max()
            zero = [entry for entry, column in enumerate(layout.offsets) if column == layout.columns]
            assert np.abs(rows[:, zero]).max(initial=0.0) == 0.0
            kept = [layout.entries[c] if c < layout.columns else e for e, c in enumerate(layout.offsets)]
            np.testing.assert_allclose(rows[:, kept], rows, rtol=0, atol=1e-9 * scale)
            assert len(set(layout.entries)) == layout.columns
            left_out += layout.size - layout.columns
    assert left_out > 0


@pytest.mark.smoke
def test_an_arm_and_a_quadruped() -> None:
    """Known patterns: an arm has no zeros; the legs of a quadruped on a fixed base do not see each other."""
    arm, dog = (tree_of(condyle.load(name)) for name in ("iiwa14", "hyq"))
    ports = {name: port for name, port in quantities().items() if "nu" not in port.dims}  # these have no actuators
    columns = {name: (layout_of(arm, port, 8).columns, layout_of(dog, port, 8).columns) for name, port in ports.items()}
    assert columns["M"] == columns["Minv"] == columns["da_dtau"] == (28, 24)
    assert columns["dtau_dq"] == columns["da_dv"] == (49, 36)
    assert columns["tau"] == (7, 12)
