"""Every function against Pinocchio's own reading of the same URDF file."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from condyle import SingularError
from condyle.functions import FUNCTIONS
from tests.accuracies import allowed
from tests.laws.robots import states
from tests.twins.compare import error
from tests.twins.example_robots import PATHS, SINGULAR, loaded, path_of

pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
from tests.twins.pinocchio_twin import FileTwin

pytestmark = pytest.mark.twins_data
N = 2
FLOATING = (
    "a1",
    "anymal_kinova",
    "g1_with_hands",
    "hyq",
    "laikago",
    "panda",
    "simple_humanoid",
    "solo12",
    "talos_reduced",
    "ur5",
)
CASES = [*((name, False) for name in PATHS), *((name, True) for name in FLOATING)]


@cache
def twin(name: str, floating_base: bool) -> FileTwin:
    return FileTwin(loaded(name, floating_base), str(path_of(name)), floating_base)


@pytest.mark.parametrize(("name", "floating_base"), CASES)
def test_every_function(name: str, floating_base: bool) -> None:
    robot = loaded(name, floating_base)
    other = twin(name, floating_base)
    given, frames = states(robot, N, seed=4), tuple(robot.frames)[-2:]
    dyn, other = robot.compile(target="numpy", frames=frames), other.asked(frames)
    for function, about in FUNCTIONS.items():
        if not hasattr(other, function):
            continue  # integrate and difference, see test_pinocchio
        if name in SINGULAR and about.solves:
            with pytest.raises(SingularError):
                dyn.mass_matrix_inverse(given.q)
            continue
        found = error(dyn, other, function, given, forces=about.takes_f_ext)
        assert found < allowed(function, "float64", 0.0), function


@pytest.mark.parametrize("name", ["panda", "hyq", "anymal_c"])
def test_snapped_angles_change_answers_by_no_more_than_themselves(name: str) -> None:
    """Angles within 1e-9 rad of a quarter turn are taken as exact: the answer moves about that much."""
    robot = loaded(name, snap=1e-9)
    given = states(robot, N, seed=4)
    moved = error(robot.compile(target="numpy"), twin(name, False), "id", given, forces=True)
    assert moved < 1e-8
    assert np.isfinite(moved)
