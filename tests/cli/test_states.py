"""Random states that functions are compared and timed at."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.cli.states import draw
from condyle.derivatives import jvp, vjp
from condyle.functions import FUNCTIONS, function_of

ROBOT = condyle.random_tree(4, rng=1, types=("revolute", "spherical", "free"))


def test_every_function_gets_arguments_of_its_shapes() -> None:
    """Also where two functions have inputs of one name and different shapes."""
    contacts = (condyle.Contact(tuple(ROBOT.frames)[-1]),)
    named = [one for one in FUNCTIONS.values() if not one.needs.drives]
    functions = [
        *named,
        *(derive(one) for one in named for derive in (jvp, vjp) if one.name in ("fk", "fv", "com", "h")),
    ]
    states = draw(ROBOT, 3, "float32", functions, frames=2, contacts=contacts)
    for function in functions:
        for port, array in zip(function.inputs, states.arguments(function), strict=True):
            assert array.shape == (3, *port.shape(states.sizes)), (function.name, port.name)
            assert array.dtype == np.float32 and array.flags.c_contiguous
        for port, array in zip(function.outputs, states.outputs(function), strict=True):
            assert (array.shape, array.dtype) == ((3, *port.shape(states.sizes)), np.float32)
            assert not array.any()


def test_sizes_are_those_of_the_robot_and_of_what_it_is_compiled_for() -> None:
    contacts = (condyle.Contact(tuple(ROBOT.frames)[-1]), condyle.Contact(tuple(ROBOT.frames)[1], "plane"))
    assert draw(ROBOT, 1, "float64", (FUNCTIONS["id"],), frames=2, contacts=contacts).sizes == {
        "nq": ROBOT.nq,
        "nv": ROBOT.nv,
        "n_bodies": 4,
        "n_frames": 2,
        "n_contacts": 2,
        "n_rows": 9,
        "n_regressor": 0,
        "nu": 0,
    }


def test_quantities_mean_what_their_names_say() -> None:
    difd = FUNCTIONS["difd"]
    states = draw(ROBOT, 3, "float64", (difd, function_of("step"), FUNCTIONS["difference"]))
    q = states.quantities["q"]
    M = ROBOT.compile(target="numpy").mass_matrix(q)
    assert np.allclose(states.quantities["Minv"] @ M, np.eye(ROBOT.nv), atol=1e-9)
    assert states.quantities["dt"].tolist() == [1e-3] * 3
    for name in ("q", "q0", "q1"):
        configuration = states.quantities[name]
        assert np.allclose(ROBOT.normalize(configuration), configuration), name


def test_the_first_states_are_the_same_ones() -> None:
    states = draw(ROBOT, 5, "float64", (FUNCTIONS["id"],))
    some = states.first(2)
    assert (states.n, some.n, some.dtype, some.sizes) == (5, 2, "float64", states.sizes)
    assert all((some.quantities[name] == array[:2]).all() for name, array in states.quantities.items())


@pytest.mark.parametrize(("seeds", "same"), [((3, 3), True), ((3, 4), False)])
def test_a_seed_decides_all_numbers(seeds: tuple[int, int], same: bool) -> None:
    first, second = (draw(ROBOT, 2, "float64", (FUNCTIONS["id"],), rng=seed).quantities for seed in seeds)
    assert all((first[name] == second[name]).all() == same for name in ("q", "v", "a", "tau"))
