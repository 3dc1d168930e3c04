"""Options of environments: what they draw, number and refuse."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle import Contact, Environment
from condyle.errors import ShapeError, UnsupportedError
from condyle.ground import Plane
from condyle.jobs.environment.transition import ANSWERS, ENTRIES
from condyle.symbolic.random_numbers import seed_words
from tests.jobs.environment_cases import environment, hopper, sliding
from tests.jobs.test_environment import refused


def test_what_is_shown_says_sizes() -> None:
    env = environment()
    assert repr(env) == f"<Environment of hopper: 1 actions, {env.observations} observations, 2 substeps of 0.005 s>"
    assert repr(env.compile(3, "float64")) == "<3 environments of hopper, float64, same_step>"
    assert env.observations == 8 + 7 + 1 + 1


@pytest.mark.parametrize(
    ("randomise", "said"),
    [
        ({"push": (0.0, 1.0)}, r"randomise: push=\(0\.0, 1\.0\) needs a floating base, and seconds above 0"),
        ({"push": (1.0, -0.1)}, r"randomise: push=\(1\.0, -0\.1\), expected two numbers from 0 on"),
        ({"push": 1.0}, r"randomise: push=1\.0, expected two numbers from 0 on"),
        ({"gravity": -0.1}, r"randomise: gravity=-0\.1, expected a number from 0 on"),
        ({"gravity": (1.0, 2.0)}, r"randomise: gravity=\(1\.0, 2\.0\), expected a number from 0 on"),
        ({"gravity": np.inf}, r"randomise: gravity=inf, expected a number from 0 on"),
        ({"friction": (1.0, 0.4)}, r"randomise: friction=\(1\.0, 0\.4\), expected the lowest before the highest"),
        ({"inertias": 1.0}, r"randomise: inertias=1\.0, expected a number below 1: factors from 1 - r on"),
        (
            {"armature": 0.5},
            r"randomise: 'armature' changes nothing here; it draws factors, and those of robot 'hopper'",
        ),
    ],
)
def test_ranges_that_cannot_be_drawn(randomise: dict[str, Any], said: str) -> None:
    feet = {"robot": hopper(), "contacts": [Contact("foot")], "ground": Plane()}
    refused(
        UnsupportedError, f"^{said}", randomise=randomise, control=lambda at, action: np.zeros(7), actions=1, **feet
    )


def test_numbers_that_are_drawn_lie_within_their_ranges() -> None:
    ranges = {"friction": (0.4, 0.4), "inertias": 0.25, "gravity": 2.0, "push": (3.0, 0.5)}
    env = Environment(
        hopper(), lambda at: at.q, lambda at: 0.0, control=lambda at, action: np.zeros(7), actions=1,
        contacts=[Contact("foot")], ground=Plane(), randomise=ranges,
    )  # fmt: skip
    randoms, push = env._transition.randoms, env._transition.push
    assert [one.name for one in randoms] == ["friction", "inertias", "gravity"]
    assert [one.size for one in randoms] == [(), (len(hopper().bodies),), (3,)]
    assert [[one.draw(x) for x in (0.0, 0.5, 1.0)] for one in randoms] == [
        [0.4, 0.4, 0.4],
        [0.75, 1.0, 1.25],
        [-2.0, 0.0, 2.0],
    ]
    assert push == (3.0, 0.5) and env._transition.period == 4 * 5e-3


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dt": np.inf}, "Environment: dt=inf, expected seconds above 0"),
        ({"dt": -1.0}, r"Environment: dt=-1\.0, expected seconds above 0"),
        ({"friction": np.nan}, "Environment: friction=nan, expected a number from 0 on"),
        ({"substeps": 0}, "substeps=0: give a whole number from 1 on"),
        ({"draws": -1}, "draws=-1: give a whole number from 0 on"),
        ({"noise": -1}, "noise=-1: give a whole number from 0 on"),
        ({"actions": 0}, "actions=0: give a whole number from 1 on"),
        ({"inputs": {"w": 1}, "memory": {"w": 1}}, "memory: 'w' is a name of the environment; choose another one"),
        *(({"inputs": {name: 1}}, f"inputs: '{name}' is a name of the environment") for name in (*ENTRIES, *ANSWERS)),
    ],
)
def test_options_of_an_environment_that_are_refused(change: dict[str, Any], said: str) -> None:
    refused(UnsupportedError, f"^{said}", **change)


def test_environments_are_as_many_as_have_numbers() -> None:
    """Whole numbers that are exact in float32."""
    most = 1 << 23
    env = sliding()
    assert env.compile(2, first=most - 2).n == 2
    with pytest.raises(
        UnsupportedError, match=rf"^compile: environments {most - 1} to {most + 1}; their numbers end at"
    ):
        env.compile(2, first=most - 1)
    with pytest.raises(UnsupportedError, match=r"^first=-1: give a whole number from 0 on"):
        env.compile(2, first=-1)


def test_seeds_are_one_for_all_or_one_for_each() -> None:
    envs = sliding().compile(2)
    assert envs.seeds(7) == [seed_words(7)] * 2 and envs.seeds([7, 8]) == [seed_words(7), seed_words(8)]
    assert envs.seeds(np.array([7, 8])) == envs.seeds((7, 8)) and envs.seeds(np.int64(7)) == envs.seeds(7)
    with pytest.raises(UnsupportedError, match=r"^reset: seed=1\.5; give a whole number, or one for each environment$"):
        envs.seeds(1.5)
    with pytest.raises(ShapeError, match=r"^reset: 3 seeds for 2 environments; give one, or one for each$"):
        envs.seeds([1, 2, 3])


def test_a_policy_answers_no_name_of_the_environment() -> None:
    envs = sliding().compile(2)
    envs.reset(seed=0)
    for name in ("reward", "q", "observation"):
        with pytest.raises(UnsupportedError, match=f"^policy: it answers '{name}', a name of the environment; choose"):
            envs.rollout(lambda observation, name=name: {"action": observation[:1], name: observation[0]}, {}, 2)
