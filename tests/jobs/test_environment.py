"""Environments: the physics of a step, modes and ends, random numbers, determinism to the bit, what is refused."""

from __future__ import annotations

import gc
import pickle
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact, Environment
from condyle.errors import CondyleError, DTypeError, ShapeError, UnsupportedError
from condyle.ground import Plane
from tests.jobs.environment_cases import actions, block, environment, hopper, slider, sliding

STEPS = 40


def played(envs: Any, path: Any) -> list[Any]:
    """What each step answers, without info."""
    return [envs.step(action)[:4] for action in path]


def assert_equal(first: Any, second: Any) -> None:
    """To the bit."""
    for x, y in zip(first, second, strict=True):
        assert all(np.array_equal(a, b) for a, b in zip(x, y, strict=True))


def test_answers_are_the_same_for_any_place_and_number_of_threads() -> None:
    path = actions(8, STEPS)
    all_of_them = environment().compile(8, threads=1)
    first = all_of_them.reset(seed=3)
    answers = played(all_of_them, path)
    assert all_of_them.failures == 0 and sum(x[2].sum() for x in answers) >= 8, "none ended"
    for begin, end, threads in ((0, 8, 2), (5, 8, 1), (2, 3, None)):
        some = environment().compile(end - begin, threads=threads, first=begin)
        assert np.array_equal(some.reset(seed=3), first[begin:end])
        assert_equal(played(some, path[:, begin:end]), [[x[begin:end] for x in step] for step in answers])


def test_many_threads_have_the_bits_of_one() -> None:
    n, path = 700, actions(700, 12)  # more than a thread takes by itself
    answers = []
    for threads in (1, 2):
        envs = environment().compile(n, threads=threads)
        envs.reset(seed=0)
        answers.append(played(envs, path))
    assert_equal(*answers)


def test_a_state_that_is_restored_goes_on_to_the_bit() -> None:
    path = actions(4, STEPS)
    envs, other = environment().compile(4), environment().compile(4)
    envs.reset(seed=1)
    played(envs, path[:17])
    state = envs.state()
    answers = played(envs, path)
    envs.restore(state)
    assert_equal(played(envs, path), answers)
    other.restore(state)
    assert_equal(played(other, path), answers)


def test_rows_of_joints_begin_at_the_impulses_before() -> None:
    """They are kept, reset and restored as those of contacts."""
    robot, options = hopper().with_drives({"slide": condyle.Drive(friction=20.0)}), {"joint_forces": ("friction",)}
    env, path = environment(robot=robot, **options, joint_rows=True), actions(4, STEPS)
    envs, other = env.compile(4, sweeps=1), env.compile(4, sweeps=1)
    envs.reset(seed=1)
    assert envs.state()["joint_impulse"].shape == (4, 7) and not envs.state()["joint_impulse"].any()
    ended = 0
    for action in path:
        begun, push = np.logical_or(*envs.step(action)[2:4]), envs.state()["joint_impulse"]
        ended += begun.sum()
        assert not push[begun].any() and push[~begun, 6].all() and not push[:, :6].any()
        assert np.abs(push).max() <= 5e-3 * 20.0 * (1.0 + 1e-6)
    assert ended >= 4
    while not envs.state()["impulse"].any(axis=(1, 2)).all():
        envs.step(path[0])
    state = envs.state()
    answers = played(envs, path)
    other.restore(state)
    assert_equal(played(other, path), answers)
    other.restore({**state, "joint_impulse": 0.0 * state["joint_impulse"]})
    assert not np.array_equal(other.step(path[0])[0], answers[0][0]), "a sweep does not forget where it began"


def test_a_body_without_contacts_stands_on_its_stop() -> None:
    """It falls 0.1 m, and is carried by m g h a step."""
    builder = condyle.Builder(gravity=(0.0, 0.0, -9.81)).body("body", mass=2.0, inertia=0.01 * np.eye(3))
    limits = {"lower": -0.1, "upper": 1.0}
    builder.joint("slide", parent="world", child="body", type="prismatic", axis=(0.0, 0.0, 1.0), **limits)
    env = Environment(
        builder.build(), lambda at, joint_impulse: np.concatenate([at.q, at.v, joint_impulse]), lambda at: at.q[0],
        joint_forces=("limits",), joint_rows=True,
    )  # fmt: skip
    for sweeps in (1, None):
        envs = env.compile(2, "float64", sweeps=sweeps)
        envs.reset(seed=0)
        for _ in range(20):
            observation, *_, info = envs.step(np.zeros((2, 1)))
            assert observation[:, 0].min() >= -0.1 - 1e-15 and info["residual"].max() < 1e-12
        np.testing.assert_allclose(observation, [[-0.1, 0.0, 2.0 * 9.81 * 5e-3]] * 2, rtol=0, atol=1e-14)


def test_a_pickle_goes_on_to_the_bit() -> None:
    """Also where a rollout was made before; a function that has no name has no pickle."""
    envs, path = environment().compile(4), actions(4, STEPS)
    envs.reset(seed=1)
    envs.rollout(lambda observation: observation[:1], {}, 2)
    other = pickle.loads(pickle.dumps(envs))
    assert_equal(played(other, path), played(envs, path))
    with pytest.raises((pickle.PicklingError, AttributeError), match="sliding"):
        pickle.dumps(sliding().compile(2))


def policy(observation: Any, gain: Any, noise: Any) -> Any:
    return {"action": gain * observation[2:3] + 0.1 * noise, "total": observation.sum()}


def test_a_rollout_has_the_steps_of_its_actions() -> None:
    """The policy is compiled into the step, so that the two are equal but for rounding."""
    envs, other = environment().compile(5, "float64"), environment().compile(5, "float64")
    weights = {"gain": np.array([0.5])}
    observation = envs.reset(seed=2)
    other.reset(seed=2)
    path = envs.rollout(policy, weights, steps=STEPS, noise=1)
    assert path.terminated.sum() >= 5 and np.array_equal(path.observation[:, 0], observation)
    for k in range(STEPS):
        observation, reward, terminated, truncated, info = other.step(path.action[:, k])
        assert np.array_equal(path.terminated[:, k], terminated) and np.array_equal(path.truncated[:, k], truncated)
        for name, x in (("reward", reward), ("residual", info["residual"]), ("final_observation", info["final_obs"])):
            assert np.allclose(getattr(path, name)[:, k], x, rtol=1e-9, atol=1e-9), name
        assert np.allclose(path.observation[:, k + 1], observation, rtol=1e-9, atol=1e-9)
    assert np.allclose(path.total, path.observation[:, :-1].sum(-1), rtol=1e-12, atol=1e-12)
    assert path.action.std(axis=0).min() > 1e-3, "noise differs from one to the other"


def test_a_rollout_goes_on_to_the_bit_where_the_one_before_ended() -> None:
    envs, weights = environment().compile(5), {"gain": np.array([0.5])}
    envs.reset(seed=2)
    start = envs.state()
    whole = envs.rollout(policy, weights, steps=STEPS, noise=1)
    end = envs.state()
    envs.restore(start)
    parts = [envs.rollout(policy, weights, steps=n, noise=1) for n in (STEPS - 15, 15)]
    for name in ("action", "reward", "terminated", "q", "final_observation", "total"):
        joined = np.concatenate([getattr(part, name) for part in parts], axis=1)
        assert np.array_equal(joined, getattr(whole, name)), name
    assert all(np.array_equal(x, end[name]) for name, x in envs.state().items())


def test_a_step_is_the_equation_of_motion() -> None:
    """A body falls, with h = dt: v' = v - g h and z' = z + h v'; last actions are those of the step."""
    envs = environment().compile(3, "float64")
    before = envs.reset(seed=0)
    z, v = before[:, 2], before[:, 10]
    for k in range(3):
        observation, *_ = envs.step(np.full((3, 1), 0.1 * k))
        for _ in range(2):
            v = v - 9.81 * 5e-3
            z = z + 5e-3 * v
        # the leg pushes against the body, so the centre of mass falls: both slide along z while the body is upright
        body, leg = observation[:, 2], observation[:, 2] - 0.3 + observation[:, 7]
        centre = (2.0 * body + 0.6 * leg) / 2.6 + 0.6 * 0.3 / 2.6
        assert np.allclose(centre, z, atol=2e-3), "the turn of the body is small"
        assert np.allclose(observation[:, 15], 0.1 * k)


def test_a_foot_lands_and_carries_the_weight() -> None:
    def seen(at: Any, impulse: Any) -> Any:
        return np.concatenate([at.q[2:3], at.frame("foot").translation, impulse.reshape(-1)])

    start = np.array([0.0, 0.0, 0.52, 0.0, 0.0, 0.0, 1.0])
    falls = Environment(block(), seen, lambda at: at.q[2], contacts=[Contact("foot")], ground=Plane(), reset=start)
    envs = falls.compile(1, "float64")
    envs.reset(seed=0)
    for _ in range(30):
        observation, *_, info = envs.step(np.zeros((1, 6)))
    assert abs(observation[0, 3]) < 1e-3 and info["residual"][0] < 1e-8
    assert observation[0, 6] / 5e-3 == pytest.approx(2.1 * 9.81, rel=1e-3), "the impulse of a substep is the weight's"


def test_modes_begin_again_when_they_say() -> None:
    path = np.full((25, 6, 1), 40.0, np.float32)
    envs = {mode: sliding().compile(6, mode=mode) for mode in ("same_step", "next_step", "disabled")}
    first = {mode: env.reset(seed=4) for mode, env in envs.items()}
    assert all(np.array_equal(x, first["disabled"]) for x in first.values())
    _, *rest, info = envs["same_step"].step(path[0])
    rest_of_next = envs["next_step"].step(path[0])
    rest_of_disabled = envs["disabled"].step(path[0])
    while not (rest[1] | rest[2]).any():
        _, *rest, info = envs["same_step"].step(path[0])
        rest_of_next, rest_of_disabled = envs["next_step"].step(path[0]), envs["disabled"].step(path[0])
    ended = rest[1] | rest[2]
    assert np.array_equal(info["_final_obs"], ended) and "final_obs" not in rest_of_next[4]
    for other in (rest_of_next, rest_of_disabled):
        assert np.array_equal(other[0], info["final_obs"])
        assert all(np.array_equal(x, y) for x, y in zip(other[1:4], rest, strict=True))
    begun = envs["same_step"].state()["observation"]
    following = envs["next_step"].step(path[0])
    assert np.array_equal(following[0][ended], begun[ended]), "it begins with the same random numbers"
    assert not following[1][ended].any() and not following[2][ended].any() and not following[3][ended].any()
    assert np.all(envs["next_step"].state()["step"] == np.where(ended, 0.0, envs["disabled"].state()["step"] + 1.0))
    assert np.array_equal(envs["disabled"].reset(mask=ended)[ended], begun[ended])
    assert np.array_equal(envs["disabled"].state()["q"][~ended], rest_of_disabled[0][~ended, :1])


def test_an_episode_is_truncated_at_its_horizon_and_a_fall_is_no_truncation() -> None:
    envs = sliding().compile(4)
    envs.reset(seed=0)
    envs.set(q=[[0.0], [0.0], [0.05], [0.0]])
    hold = np.full((4, 1), 2.0 * 9.81, np.float32)
    for k in range(1, 8):
        if k == 7:
            envs.set(q=[[0.2], [0.0], [0.05], [0.2]])
        observation, _, terminated, truncated, info = envs.step(hold)
        assert np.all(info["final_obs"][:, 3] == k)
        assert np.allclose(info["final_obs"][:, 4], 0.01 * k)
    assert np.array_equal(terminated, [True, False, False, True])
    assert np.array_equal(truncated, [False, True, True, False])
    assert np.all(observation[:, 3:5] == 0.0) and np.all(envs.state()["episode"] == 1.0)


def test_a_state_that_is_no_number_begins_again_alone_and_is_counted() -> None:
    path = actions(4, 6)
    for mode in ("same_step", "next_step", "disabled"):
        envs, untouched = (environment().compile(4, mode=mode) for _ in range(2))
        envs.reset(seed=0)
        untouched.reset(seed=0)
        hurt = path[0].copy()
        hurt[2] = np.nan
        observation, reward, terminated, _, info = envs.step(hurt)
        healthy = untouched.step(path[0])
        others = np.arange(4) != 2
        assert np.array_equal(info["failed"], ~others) and np.array_equal(terminated, ~others) and envs.failures == 1
        assert np.array_equal(observation[others], healthy[0][others])
        assert np.all(np.isfinite(observation)) and np.all(np.isfinite(reward))
        if mode == "disabled":
            envs.reset(mask=~others)
        elif mode == "next_step":
            untouched.step(path[1])
            envs.step(path[1])
        assert all(np.all(np.isfinite(x)) for x in envs.state().values())
        answers, expected = played(envs, path[2:]), played(untouched, path[2:])
        assert_equal([[x[others] for x in s] for s in answers], [[x[others] for x in s] for s in expected])
        assert envs.failures == 1


def test_a_reset_with_a_mask_leaves_the_others() -> None:
    envs = sliding().compile(4)
    first = envs.reset(seed=[5, 5, 6, 7])
    assert np.array_equal(envs.reset(seed=5)[:2], first[:2]), "a seed is that of one environment"
    envs.step(np.zeros((4, 1), np.float32))
    before, mask = envs.state(), np.array([True, False, False, True])
    envs.reset(seed=9, mask=mask)
    after = envs.state()
    for name, x in before.items():
        assert np.array_equal(after[name][~mask], x[~mask]), name
    assert np.all(after["step"][mask] == 0.0) and np.all(after["episode"][mask] == 0.0)
    assert np.array_equal(envs.reset(seed=9)[mask], after["observation"][mask])
    episodes = [envs.reset()[0, 0] for _ in range(3)]
    assert len(set(episodes)) == 3, "each episode has its own numbers"
    with_seed = sliding().compile(1).reset()
    assert with_seed.shape == (1, 7) and np.all(np.isfinite(with_seed)), "a seed of the system"


def test_inputs_and_memory_are_those_that_are_set() -> None:
    envs = sliding().compile(3)
    drawn = envs.reset(seed=0)[:, 2]
    assert np.array_equal(envs.state()["target"], drawn) and len(set(drawn)) == 3
    hold = np.full((3, 1), 2.0 * 9.81, np.float32)
    assert np.array_equal(envs.step(hold)[0][:, 2], drawn)
    observation, reward, *_ = envs.step(hold, target=0.25)
    assert np.all(observation[:, 2] == 0.25) and np.allclose(reward, observation[:, 0] - 0.25, atol=1e-7)
    assert np.all(envs.step(hold)[0][:, 2] == 0.25), "it stays"
    envs.set(count=[1.0, 2.0, 3.0], target=np.zeros(3))
    assert np.array_equal(envs.step(hold)[0][:, 2:4], [[0.0, 2.0], [0.0, 3.0], [0.0, 4.0]])
    envs.set(v=[2.0])
    envs.reset(mask=[True, False, False])
    assert np.array_equal(envs.state()["count"], [0.0, 3.0, 4.0]) and np.array_equal(envs.state()["v"][1:, 0], [2, 2])


def test_noise_is_normal_and_differs_between_steps() -> None:
    n = 3000
    envs = sliding().compile(n)
    noise = [envs.reset(seed=0)[:, 5], *(envs.step(np.zeros((n, 1), np.float32))[0][:, 5] for _ in range(2))]
    for x in noise:  # five standard deviations of what is estimated
        assert abs(x.mean()) < 5.0 / np.sqrt(n) and abs(x.std() - 1.0) < 5.0 / np.sqrt(2.0 * n)
    correlations = np.corrcoef(np.stack([*noise, np.roll(noise[0], 1)])) - np.eye(4)
    assert np.abs(correlations).max() < 5.0 / np.sqrt(n)


def randomised(forces: tuple[str, ...]) -> Environment:
    """The slider with all of its numbers drawn. forces: those that are named."""
    factors = dict.fromkeys(("inertias", "armature", "damping", "dry_friction", "stiffness", "actuator_gains"), 0.3)
    return Environment(
        slider(), lambda at: np.concatenate([at.q, at.v]), lambda at: at.q[0], reset=lambda draws: {"q": draws - 0.5,
        "v": draws}, draws=1, randomise={**factors, "gravity": 1.0}, dt=1e-2, substeps=1, horizon=3, actuators=True,
        joint_forces=forces, implicit=False,
    )  # fmt: skip


@pytest.mark.parametrize("forces", [("damping", "friction", "springs"), ()])
def test_numbers_of_the_robot_are_those_that_are_drawn(forces: tuple[str, ...]) -> None:
    """v' = v + h (gain u - d v - f v / sqrt(v^2 + w^2) - k q + m (g + dg)) / (m + armature), with drawn factors.

    Forces act by these numbers, named or not."""
    n = 400
    envs = randomised(forces).compile(n, "float64")
    start = envs.reset(seed=0)
    drawn = envs.state()
    for name, (low, high) in {"gravity": (-1.0, 1.0), "armature": (0.7, 1.3), "actuator_gains": (0.7, 1.3)}.items():
        x = drawn[name]
        assert low <= x.min() < low + 0.05 * (high - low) and high - 0.05 * (high - low) < x.max() <= high, name
        assert abs(x.mean() - 0.5 * (low + high)) < 5.0 * (high - low) / np.sqrt(12.0 * x.size), name
    a = {name: drawn[name][:, 0] for name in ("armature", "damping", "dry_friction", "stiffness", "actuator_gains")}
    table = np.stack([*a.values(), drawn["inertias"][:, 0], drawn["gravity"][:, 2]])
    assert np.abs(np.corrcoef(table) - np.eye(7)).max() < 5.0 / np.sqrt(n), "each is drawn for itself"
    (q, v), u = start.T, np.linspace(-1.0, 1.0, n)
    m = 2.0 * drawn["inertias"][:, 0]
    force = 3.0 * a["actuator_gains"] * u - 0.7 * a["damping"] * v - 5.0 * a["stiffness"] * q
    force += -0.4 * a["dry_friction"] * v / np.hypot(v, 0.01) + m * (-9.81 + drawn["gravity"][:, 2])
    v = v + 1e-2 * force / (m + 0.3 * a["armature"])
    observation, *_, info = envs.step(u[:, None])
    assert np.allclose(observation[:, 1], v, rtol=1e-11) and np.allclose(observation[:, 0], q + 1e-2 * v, rtol=1e-11)
    assert np.array_equal(envs.state()["inertias"], drawn["inertias"]), "the same for an episode"
    for _ in range(2):
        envs.step(u[:, None])
    assert np.all(envs.state()["episode"] == 1.0)
    assert not np.any(envs.state()["inertias"] == drawn["inertias"]), "others in the next one"
    assert "residual" not in info


def test_friction_and_pushes_are_those_that_are_drawn() -> None:
    """A body that slides loses mu g h a step; pushes come as often, as fast and in all directions as was said."""
    start = np.array([0.0, 0.0, 0.5, 0.0, 0.0, 0.0, 1.0])
    n = 2000

    def env(**options: Any) -> Environment:
        none: Callable[..., Any] = lambda at, action: np.concatenate([0.0 * action, np.zeros(5)])  # noqa: E731
        values = {"control": none, "actions": 1, "dt": 5e-3, "substeps": 1} | options
        return Environment(block(), lambda at: at.v, lambda at: at.q[0], **values)

    rough = env(
        reset=lambda: {"q": start, "v": np.array([1.0, 0, 0, 0, 0, 0])}, contacts=[Contact("foot")], ground=Plane(),
        randomise={"friction": (0.2, 0.6)},
    )  # fmt: skip
    envs = rough.compile(20, "float64")
    envs.reset(seed=0)
    friction, zero = envs.state()["friction"], np.zeros((20, 1))
    assert 0.2 <= friction.min() < 0.3 and 0.5 < friction.max() < 0.6
    envs.step(zero)
    impulse = envs.state()["impulse"][:, 0]
    assert np.allclose(-impulse[:, 0], friction * impulse[:, 2], rtol=1e-5) and np.all(impulse[:, 2] > 0.0)
    pushed = env(reset=lambda: {"q": start}, randomise={"push": (0.05, 0.8)})
    envs = pushed.compile(n)
    envs.reset(seed=0)
    change = envs.step(np.zeros((n, 1), np.float32))[0][:, :2]
    speed = np.hypot(*change.T)
    hit = speed > 0.0
    assert abs(hit.mean() - 0.1) < 5.0 * np.sqrt(0.1 * 0.9 / n), "h / seconds of the steps have one"
    assert speed.max() <= 0.8 + 1e-6 and abs(speed[hit].mean() - 0.4) < 5.0 * 0.8 / np.sqrt(12.0 * hit.sum())
    mean = change[hit].mean(axis=0) / speed[hit].mean()
    assert np.hypot(*mean) < 5.0 / np.sqrt(hit.sum()), "all directions are alike"


def test_arrays_are_those_of_the_call_unless_they_need_not_be() -> None:
    envs, fast = sliding().compile(2), sliding().compile(2, copy=False)
    assert np.array_equal(envs.reset(seed=0), fast.reset(seed=0))
    path = actions(2, 3)
    kept = played(envs, path)
    copies = [x.copy() for step in kept for x in step]
    played(envs, path)
    assert_equal([[x for step in kept for x in step]], [copies])
    first, second, third = (fast.step(action)[0] for action in path)
    assert first is third and first is not second and np.array_equal(third, kept[2][0])


@pytest.mark.slow
def test_python_keeps_nothing_of_a_call() -> None:
    envs, action, first = warm(1)
    gc.collect()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for k in range(2000):
            envs.step(action)
            if k % 50 == 0:
                envs.rollout(first, {}, 2)
        gc.collect()
        assert tracemalloc.get_traced_memory()[0] - before < 4000  # bytes: some numbers and frames
    finally:
        tracemalloc.stop()


@pytest.mark.slow
def test_memory_does_not_grow_in_ten_million_steps() -> None:
    envs, action, _ = warm(100)
    memory = Path("/proc/self/statm")
    before = int(memory.read_text().split()[1])
    for _ in range(100_000):
        envs.step(action)
    assert int(memory.read_text().split()[1]) - before < 500  # pages: 5 bytes a call


def warm(n: int) -> tuple[Any, Any, Callable[..., Any]]:
    envs, action = sliding().compile(n), np.zeros((n, 1), np.float32)
    envs.reset(seed=0)
    first: Callable[..., Any] = lambda observation: observation[:1]  # noqa: E731
    for _ in range(100):
        envs.step(action)
        envs.rollout(first, {}, 2)
    return envs, action, first


def refused(error: type[CondyleError], words: str, **options: Any) -> None:
    values: dict[str, Any] = {"robot": slider(), "observe": lambda at: at.q, "reward": lambda at: at.q[0], **options}
    with pytest.raises(error, match=words):
        Environment(**values).compile(2)


def test_what_does_not_fit_is_refused() -> None:
    refused(UnsupportedError, r"randomise: 'mass'; allowed is 'friction', .*'push'", randomise={"mass": 0.1})
    refused(UnsupportedError, r"'friction' changes nothing here; give contacts", randomise={"friction": (0.4, 1.0)})
    bare = {"robot": block(), "randomise": {"damping": 0.1}, "joint_forces": ("damping",)}
    refused(UnsupportedError, r"'damping' changes nothing here; .* those of robot 'block' are all 0", **bare)
    refused(UnsupportedError, r"changes nothing here; give actuators=True", randomise={"actuator_gains": 0.1})
    refused(UnsupportedError, "needs a floating base", randomise={"push": (1.0, 0.1)})
    refused(UnsupportedError, "expected two numbers", randomise={"friction": 0.5})
    feet = {"robot": hopper(), "contacts": [Contact("foot")], "ground": Plane()}
    refused(UnsupportedError, "ground=None; with contacts give one", **{**feet, "ground": None})
    refused(UnsupportedError, r"observe: argument 'foo' is no input; there are at, ", observe=lambda at, foo: at.q)
    refused(UnsupportedError, r"reward: argument 'foo'", reward=lambda at, foo: at.q[0])
    refused(ShapeError, r"reward: .* shape \(1,\), expected one number", reward=lambda at: at.q)
    refused(ShapeError, r"done: .* shape \(1,\), expected one number", done=lambda at: at.q > 0.0)
    refused(ShapeError, r"observe: .* shape \(\), expected one axis", observe=lambda at: at.q[0])
    refused(ShapeError, r"control: its answer has shape \(\)", control=lambda at, action: action[0])
    refused(ShapeError, r"an action without control= has shape \(3,\), expected \(1,\)", actions=3)
    refused(UnsupportedError, "'q' is missing", reset=lambda draws: {"v": draws}, draws=1)
    refused(ShapeError, r"reset: q has shape \(2,\), expected \(1,\)", reset=lambda draws: {"q": draws}, draws=2)
    refused(ShapeError, "q has shape", reset=np.zeros(3))
    refused(UnsupportedError, "memory needs remember", memory={"a": 2})
    refused(UnsupportedError, "return a dict with some of 'a'", memory={"a": 2}, remember=lambda at: at.q)
    refused(UnsupportedError, "'gravity' is a name", inputs={"gravity": 3}, randomise={"gravity": 1.0})
    refused(UnsupportedError, "dt=0.0, expected seconds above 0", dt=0.0)
    refused(UnsupportedError, "friction=-1.0", friction=-1.0)
    refused(UnsupportedError, "horizon=0", horizon=0)
    with pytest.raises(UnsupportedError, match="mode='never'; allowed is 'same_step', 'next_step', 'disabled'"):
        sliding().compile(2, mode="never")


def test_calls_that_do_not_fit_are_refused() -> None:
    envs, action = sliding().compile(2), np.zeros((2, 1), np.float32)
    for seed, error, words in (
        ([1, 2, 3], ShapeError, "3 seeds for 2 environments"),
        (1.5, UnsupportedError, "give a whole number, or one for each"),
    ):
        with pytest.raises(error, match=words):
            envs.reset(seed)  # type: ignore[arg-type]
    envs.reset(seed=0)
    calls: list[tuple[type[CondyleError], str, Callable[[], object]]] = [
        (ShapeError, r"mask has shape \(3,\), expected \(2,\)", lambda: envs.reset(mask=np.ones(3))),
        (ShapeError, r"action has shape \(2, 2\), expected", lambda: envs.step(np.zeros((2, 2), np.float32))),
        (DTypeError, "action is float64, expected float32", lambda: envs.step(np.zeros((2, 1)))),
        (UnsupportedError, "there is no input 'foo'; inputs are: target", lambda: envs.step(action, foo=1.0)),
        (UnsupportedError, "set: there is no 'foo'; there are q, v", lambda: envs.set(foo=1.0)),
        (ShapeError, r"q has shape \(5,\), expected \(2, 1\) or \(1,\)", lambda: envs.set(q=np.zeros(5))),
        (UnsupportedError, "restore: 'q' is missing", lambda: envs.restore({})),
        (ShapeError, "set: q has shape", lambda: envs.restore(sliding().compile(3).state())),
        (UnsupportedError, "policy: argument 'w' is no input", lambda: envs.rollout(lambda observation, w: w, {}, 3)),
        (ShapeError, r"action has shape \(4,\)", lambda: envs.rollout(lambda observation: np.zeros(4), {}, 3)),
        (UnsupportedError, "'action' is missing", lambda: envs.rollout(lambda observation: {"a": observation}, {}, 3)),
        (UnsupportedError, "a weight is called 'q'", lambda: envs.rollout(lambda q: q, {"q": np.zeros(1)}, 3)),
        (UnsupportedError, "steps=0", lambda: envs.rollout(lambda observation: observation[:1], {}, 0)),
    ]
    before = envs.state()
    for error, words, call in calls:
        with pytest.raises(error, match=words):
            call()
    assert all(np.array_equal(x, before[name]) for name, x in envs.state().items()), "nothing has changed"
    assert condyle.Environment is Environment and "2 environments of slider" in repr(envs)
