"""Numbers of environments: which random numbers are drawn, defaults, what has failed, what users' functions see."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from condyle import Contact, Environment
from condyle.errors import UnsupportedError
from condyle.ground import Plane
from condyle.jobs.environment.transition import ANSWERS, ENTRIES
from condyle.symbolic.random_numbers import normal, seed_words, uniform
from tests.jobs.environment_cases import block, slider, sliding
from tests.jobs.test_environment import refused

SEED, FIRST, N = 11, 5, 3


def keys(episode: float) -> list[tuple[Any, ...]]:
    """Of the random numbers of each environment."""
    return [(*seed_words(SEED), FIRST + k, episode) for k in range(N)]


def test_random_numbers_are_those_of_seed_environment_episode_and_step() -> None:
    """Purposes are 0 at a reset, 1 for what an episode draws, 2 for noise, 3 for pushes, 4 for a policy's noise."""
    envs = sliding().compile(N, "float64", first=FIRST)
    first, zero = envs.reset(seed=SEED), np.zeros((N, 1))
    for episode in (0.0, 1.0):
        draws = np.array([uniform(key, (0.0, 0), 2) for key in keys(episode)])
        np.testing.assert_allclose(first[:, 0], 0.1 * draws[:, 0], rtol=1e-15)
        np.testing.assert_array_equal(first[:, 2], draws[:, 1])
        noise = [[normal(key, (float(step), 2), 1)[0] for key in keys(episode)] for step in (0, 1, 2)]
        np.testing.assert_allclose(first[:, 5], noise[0], rtol=1e-12)
        for step in (1, 2):
            np.testing.assert_allclose(envs.step(zero)[4]["final_obs"][:, 5], noise[step], rtol=1e-12)
        assert envs.state()["step"].tolist() == [2.0] * N and envs.state()["episode"].tolist() == [episode] * N
        first = envs.reset()
    envs.reset(seed=SEED)
    path = envs.rollout(lambda observation, noise: {"action": noise[:1], "more": noise}, {}, 2, noise=3)
    for step in (0, 1):
        want = [normal(key, (float(step), 4), 3) for key in keys(0.0)]
        np.testing.assert_allclose(path.more[:, step], want, rtol=1e-12)
        np.testing.assert_allclose(path.action[:, step, 0], np.array(want)[:, 0], rtol=1e-12)


def test_what_an_episode_draws_and_its_pushes_are_those_of_its_keys() -> None:
    """Numbers are drawn in the order in which they are asked for; a push turns with the base."""
    turned = np.array([0.0, 0.0, 0.5, 0.0, 0.0, np.sqrt(0.5), np.sqrt(0.5)])  # by a quarter about z
    env = Environment(
        block(), lambda at: at.v, lambda at: at.q[2], control=lambda at, action: np.zeros(6), actions=1, dt=5e-3,
        substeps=2, reset=turned, randomise={"gravity": 2.0, "push": (0.015, 0.8), "inertias": 0.25},
    )  # fmt: skip
    envs, bodies = env.compile(N, "float64", first=FIRST), len(block().bodies)
    assert not envs.reset(seed=SEED).any()
    drawn = np.array([uniform(key, (0.0, 1), 3 + bodies) for key in keys(0.0)])
    np.testing.assert_allclose(envs.state()["gravity"], -2.0 + 4.0 * drawn[:, :3], rtol=1e-14)
    np.testing.assert_allclose(envs.state()["inertias"], 0.75 + 0.5 * drawn[:, 3:], rtol=1e-14)
    envs.set(gravity=[0.0, 0.0, 9.81])
    before, hits = np.zeros((N, 3)), 0
    for step in range(6):
        observation = envs.step(np.zeros((N, 1)))[0]
        for k, key in enumerate(keys(0.0)):
            chance, size, turn = uniform(key, (float(step), 3), 3)
            hit = chance < 0.01 / 0.015
            hits += hit
            angle = 2.0 * np.pi * turn
            push = hit * 0.8 * size * np.array([np.sin(angle), -np.cos(angle), 0.0])  # in the axes of the base
            np.testing.assert_allclose(observation[k, :3] - before[k], push, atol=1e-12)
        before = observation[:, :3]
    assert 6 < hits < 6 * N


def test_options_that_are_left_out() -> None:
    env = Environment(slider(), lambda at: at.q, lambda at: at.q[0])
    t = env._transition
    assert (t.dt, t.substeps, t.friction, t.draws, t.noise, t.horizon) == (5e-3, 4, 0.8, 0, 0, None)
    assert (t.starts, t.inputs, t.memory, t.randoms, t.push, t.controls) == ((), (), (), (), None, 1)
    assert t.period == 0.02 and env.actions == 1 and env.observations == 1
    assert env._options == {"implicit": "positions", "contacts": []}
    assert Environment(slider(), lambda at: at.q, lambda at: at.q[0], implicit=False)._options["implicit"] is False
    envs = env.compile(2)
    assert (envs.n, envs.dtype, envs.mode, envs.inputs, envs.horizon) == (2, np.float32, "same_step", (), None)
    assert (envs.action_size, envs.observation_size, envs.failures) == (1, 1, 0)
    assert envs.state()["environment"].tolist() == [0.0, 1.0]
    assert sliding().compile(2).inputs == ("target",) and sliding().compile(2).horizon == 7
    assert env.compile(2, threads=1)._transition.mode == env._transition.mode == "same_step"
    assert env.compile(2, mode="disabled")._transition.mode == "disabled"


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_state_has_failed_where_it_is_above_1e30_with_its_reward(sign: float) -> None:
    """|v| + |q| + |reward| is v (1 + 0.01 + 0.01) after a step of 0.01 s, gravity is lost in it."""
    envs = sliding().compile(3, "float64")
    envs.reset(seed=0)
    envs.set(v=sign * np.array([[0.978e30], [0.982e30], [0.0]]), q=[[0.0], [0.0], [-1.0]])
    _, reward, terminated, truncated, info = envs.step(np.zeros((3, 1)))
    assert info["failed"].tolist() == [False, True, False] and envs.failures == 1
    assert terminated.tolist() == [sign > 0.0, True, False] and not truncated.any()
    assert reward[0] == pytest.approx(sign * 0.978e28, rel=1e-12) and reward[1] == 0.0
    assert not info["final_obs"][1].any() and info["final_obs"][[0, 2]].any(axis=1).all()
    assert info["_final_obs"].tolist() == terminated.tolist()


def test_failures_of_a_rollout_are_counted() -> None:
    envs = sliding().compile(2)
    envs.reset(seed=0)
    path = envs.rollout(lambda observation, w: w / observation[3:4], {"w": np.zeros(1)}, 3)
    assert path.failed.all() and path.failed.dtype == bool and envs.failures == 6, "0 / 0 at each first step"


@pytest.mark.parametrize(
    ("options", "friction"), [({}, 0.8), ({"friction": 0.3}, 0.3), ({"inputs": {"friction": ()}}, 0.5)]
)
def test_friction_is_that_of_the_option_or_of_an_input_of_this_name(options: dict[str, Any], friction: float) -> None:
    start = {"q": np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0]), "v": np.array([1.0, 0.0, 0.0, 0.0, 0.0, 0.0])}
    env = Environment(
        block(), lambda at: at.v, lambda at: at.q[2], control=lambda at, action: np.zeros(6), actions=1, substeps=1,
        contacts=[Contact("foot")], ground=Plane(), reset=lambda: start, **options,
    )  # fmt: skip
    envs = env.compile(1, "float64")
    envs.reset(seed=0)
    envs.step(np.zeros((1, 1)), **({"friction": 0.5} if "inputs" in options else {}))
    impulse = envs.state()["impulse"][0, 0]
    assert -impulse[0] / impulse[2] == pytest.approx(friction, rel=1e-5)


def test_a_mask_begins_what_is_above_a_half_and_at_first_all_begin() -> None:
    envs = sliding().compile(4, "float64")
    envs.reset(seed=0, mask=np.zeros(4))
    assert envs.state()["episode"].tolist() == [0.0] * 4
    hold = np.full((4, 1), 2.0 * 9.81)
    envs.step(hold)
    envs.reset(mask=[0.0, 0.5, 0.51, 1.0])
    assert envs.state()["episode"].tolist() == [0.0, 0.0, 1.0, 1.0]
    assert envs.state()["step"].tolist() == [1.0, 1.0, 0.0, 0.0]
    before = envs.state()["seed"]
    envs.reset(seed=9, mask=[0.0, 0.5, 0.51, 1.0])
    assert envs.state()["episode"].tolist() == [0.0] * 4
    assert (envs.state()["seed"] != before).any(axis=1).tolist() == [False, False, True, True]
    assert envs.state()["seed"][2].tolist() == [*seed_words(9)]


NAMES = (
    "q v action last_action impulse joint_impulse step time episode environment seed observation reward terminated "
    "truncated final_observation residual failed u noise draws ended mask"
)


def test_names_that_inputs_and_memory_cannot_have() -> None:
    assert [*ENTRIES, *ANSWERS] == NAMES.split()


@pytest.mark.parametrize("name", ["seed", "observation", "mask", "ended", "draws"])
@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_what_users_functions_do_not_see(name: str, mode: str) -> None:
    """A reward has the most arguments."""
    asks: Any = {
        "seed": lambda at, seed: 0.0, "observation": lambda at, observation: 0.0, "mask": lambda at, mask: 0.0,
        "ended": lambda at, ended: 0.0, "draws": lambda at, draws: 0.0,
    }[name]  # fmt: skip
    env = Environment(slider(), lambda at: at.q, asks, draws=1, reset=lambda draws: {"q": draws})
    with pytest.raises(UnsupportedError, match=f"reward: argument '{name}' is no input") as caught:
        env.compile(2, mode=mode)
    listed = str(caught.value).split("there are ")[1].split(", ")
    assert {"at", "action", "last_action", "step", "time", "episode", "environment", "noise", "u"} <= {*listed}
    assert not {"seed", "observation", "mask", "ended", "draws"} & {*listed}


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"observe": lambda at, action: at.q}, "observe: argument 'action' is no input; there are at, "),
        ({"observe": lambda at, u: at.q}, "observe: argument 'u' is no input; there are at, "),
        ({"reset": lambda seed: {"q": seed}}, "reset: argument 'seed' is no input; there are draws, episode, environm"),
        (
            {"reset": lambda draws: {"q": draws, "w": 1.0}, "draws": 1},
            "reset answers 'q', 'w'; return a dict with some",
        ),
    ],
)
def test_arguments_and_answers_of_users_functions_that_are_refused(change: dict[str, Any], said: str) -> None:
    refused(UnsupportedError, said, **change)


def test_a_policy_has_noise_where_it_is_asked_for() -> None:
    envs = sliding().compile(2)
    envs.reset(seed=0)

    def policy(observation: Any, noise: Any) -> Any:
        return noise[:1]

    with pytest.raises(UnsupportedError, match="policy: argument 'noise' is no input; there are observation"):
        envs.rollout(policy, {}, 2)
    assert envs.rollout(policy, {}, 2, noise=1).action.shape == (2, 2, 1)
    with pytest.raises(UnsupportedError, match=r"^noise=-1: give a whole number from 0 on"):
        envs.rollout(policy, {}, 2, noise=-1)

    def scaled(observation: Any, w: Any) -> Any:
        return np.zeros(1) + w.sum()

    paths = [envs.rollout(scaled, {"w": np.full(size, 0.25)}, 1) for size in (1, 2, 1)]
    assert [path.action[0, 0, 0] for path in paths] == [0.25, 0.5, 0.25] and len(envs._policies) == 3


def test_environments_are_at_least_one() -> None:
    with pytest.raises(UnsupportedError, match=r"^n=0: give a whole number from 1 on"):
        sliding().compile(0)


def test_environments_begin_with_a_reset() -> None:
    envs = sliding().compile(1)
    with pytest.raises(UnsupportedError, match=r"^step: the environments have not begun; call reset\(seed=0\) first$"):
        envs.step(np.zeros((1, 1), np.float32))
    with pytest.raises(UnsupportedError, match=r"^rollout: the environments have not begun"):
        envs.rollout(lambda observation: observation[:1], {}, 1)
