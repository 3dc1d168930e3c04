"""Environments as gymnasium's: its checker, its wrappers, and the modes as its own vector environment has them."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from condyle.errors import ShapeError, UnsupportedError
from tests.jobs.environment_cases import actions, environment, sliding

gymnasium: Any = pytest.importorskip("gymnasium", reason="pip install 'condyle[gymnasium]'")
from gymnasium.utils.env_checker import check_env  # noqa: E402
from gymnasium.vector import AutoresetMode, SyncVectorEnv  # noqa: E402
from gymnasium.wrappers import vector as wrappers  # noqa: E402

from condyle.interop import gymnasium as own  # noqa: E402
from condyle.interop.gymnasium import Env, VectorEnv  # noqa: E402

LIMITS = (-40.0, 40.0)


def alone(first: int = 0) -> Any:
    return Env(sliding().compile(1, mode="disabled", first=first), LIMITS)


@pytest.mark.filterwarnings("ignore:.*(A Box observation space m|For Box action spaces, we recommend)")
@pytest.mark.parametrize("make", [alone, lambda: Env(environment().compile(1, mode="disabled"), LIMITS)])
def test_the_checker_of_gymnasium_passes(make: Any) -> None:
    name = "condyle/Slides-v0"
    gymnasium.register(name, entry_point=make)
    try:
        check_env(gymnasium.make(name, disable_env_checker=True).unwrapped)
    finally:
        del gymnasium.registry[name]


@pytest.mark.parametrize("mode", AutoresetMode)
def test_modes_are_those_of_the_vector_environment_of_gymnasium(mode: Any) -> None:
    n = 3
    many = VectorEnv(sliding().compile(n, mode=mode.name.lower()), LIMITS)
    single = SyncVectorEnv([lambda k=k: alone(k) for k in range(n)], autoreset_mode=mode)
    assert many.metadata["autoreset_mode"] is mode
    for name in ("observation_space", "action_space", "single_observation_space", "single_action_space"):
        assert getattr(many, name) == getattr(single, name), name
    assert np.array_equal(many.reset(seed=3)[0], single.reset(seed=[3] * n)[0])
    ends = 0
    for k in range(30):
        action = np.linspace(-40.0, 40.0, n, dtype=np.float32)[:, None] * (-1.0) ** k + 20.0
        answers, expected = many.step(action), single.step(action)
        for x, y in zip(answers[:4], expected[:4], strict=True):
            assert np.array_equal(x, y)
        assert answers[0] in many.observation_space
        ended = answers[2] | answers[3]
        ends += ended.sum()
        check_infos(answers[4], expected[4], ended & (mode is AutoresetMode.SAME_STEP))
        if mode is AutoresetMode.DISABLED and ended.any():
            options: Any = [{"reset_mask": ended.copy()} for _ in range(2)]
            assert np.array_equal(many.reset(options=options[0])[0], single.reset(options=options[1])[0])
    assert ends > 5


def check_infos(infos: Any, expected: Any, ended: Any) -> None:
    """The form of gymnasium: arrays of final observations where there are some, with masks."""
    for name in ("final_obs", "_final_obs", "final_info", "_final_info"):
        assert (name in infos) == (name in expected) == ended.any(), name
    if ended.any():
        assert infos["final_obs"].dtype == object and infos["final_obs"].shape == ended.shape
        for x, y in zip(infos["final_obs"], expected["final_obs"], strict=True):
            assert (x is None and y is None) or np.array_equal(x, y)
        assert np.array_equal(infos["_final_obs"], ended) and np.array_equal(infos["_final_info"], ended)
        assert infos["final_info"].keys() == expected["final_info"].keys()
        assert np.array_equal(infos["final_info"]["_failed"], ended)


@pytest.mark.parametrize("mode", ["same_step", "next_step"])
def test_returns_and_lengths_of_episodes_are_recorded(mode: str) -> None:
    n = 4
    plain = VectorEnv(environment().compile(n, mode=mode), (-1.0, 1.0))
    wrapped: Any = wrappers.RecordEpisodeStatistics(VectorEnv(environment().compile(n, mode=mode), (-1.0, 1.0)))
    assert np.array_equal(plain.reset(seed=0)[0], wrapped.reset(seed=0)[0])
    returns, lengths, begins, episodes = np.zeros(n), np.zeros(n), np.zeros(n, bool), 0
    for action in actions(n, 60):
        observation, reward, terminated, truncated, _ = plain.step(action)
        seen, *_, infos = wrapped.step(action)
        assert np.array_equal(seen, observation)
        ended = terminated | truncated
        returns, lengths = np.where(begins, 0.0, returns + reward), np.where(begins, 0, lengths + 1)
        if ended.any():
            assert np.allclose(infos["episode"]["r"][ended], returns[ended], rtol=1e-6)  # sums of float32
            assert np.array_equal(infos["episode"]["l"][ended], lengths[ended])
        if mode == "same_step":
            returns[ended], lengths[ended] = 0.0, 0
        else:
            begins = ended
        episodes += ended.sum()
    assert episodes > 3


def test_wrappers_of_observations_take_them() -> None:
    """Those of gymnasium take environments that begin again in the next step, or when they are told to."""
    wrapped: Any = wrappers.NormalizeObservation(VectorEnv(sliding().compile(3, mode="next_step"), LIMITS))
    cut = {"func": lambda x: x[:2], "observation_space": gymnasium.spaces.Box(-np.inf, np.inf, (2,), np.float32)}
    wrapped = wrappers.VectorizeTransformObservation(wrapped, gymnasium.wrappers.TransformObservation, **cut)
    wrapped = wrappers.DictInfoToList(wrapped)
    wrapped.reset(seed=0)
    for action in actions(3, 20):
        observation, *_, infos = wrapped.step(action)
    assert observation.shape == (3, 2) and infos[0] == {"failed": False}


def test_one_alone_is_one_of_many() -> None:
    many, one = VectorEnv(sliding().compile(1, mode="disabled")), alone()
    assert np.array_equal(many.reset(seed=2)[0][0], one.reset(seed=2)[0])
    action = np.full(1, 30.0, np.float64)  # a trainer's number type
    observation, reward, terminated, truncated, info = one.step(action)
    expected = many.step(action[None])
    assert np.array_equal(observation, expected[0][0]) and reward == expected[1][0]
    assert terminated is bool(expected[2][0]) and truncated is False and info == {"failed": False}
    assert isinstance(reward, float)


def test_what_does_not_fit_is_refused() -> None:
    envs = sliding().compile(2)
    with pytest.raises(UnsupportedError, match="give what condyle"):
        VectorEnv(sliding())  # type: ignore[arg-type]
    with pytest.raises(ShapeError, match="3 seeds for 2"):
        VectorEnv(envs).reset(seed=[1, 2, 3])


@pytest.mark.parametrize("lacking", ["gymnasium", "gymnasium.vector", "AutoresetMode"])
def test_an_older_gymnasium_and_none_are_told_what_to_install(lacking: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`AutoresetMode` is there from version 1.1 on."""
    if lacking == "AutoresetMode":
        monkeypatch.delattr(gymnasium.vector, lacking)
    else:
        monkeypatch.setitem(sys.modules, lacking, None)
    source = Path(own.__file__).read_text(encoding="utf-8")
    with pytest.raises(UnsupportedError, match=r"^gymnasium from 1\.1 on is not installed: pip install 'condyle\[gym"):
        exec(compile(source, "again", "exec"), {"__name__": "again"})


def test_spaces_are_boxes_of_the_number_type() -> None:
    """Without limits all numbers are in them; a limit is one number or one for each entry."""
    for dtype in ("float32", "float64"):
        plain = VectorEnv(sliding().compile(3, dtype))
        seen, moved = plain.single_observation_space, plain.single_action_space
        assert (seen.shape, seen.dtype, moved.shape, moved.dtype) == ((7,), dtype, (1,), dtype)
        for space in (seen, moved):
            assert np.all(space.low == -np.inf) and np.all(space.high == np.inf)
        assert plain.observation_space.shape == (3, 7) and plain.action_space.shape == (3, 1) and plain.num_envs == 3
    for limits in ((-2.0, 3.0), ([-2.0], [3.0]), (-2.0, np.array([3.0]))):
        space = Env(sliding().compile(1, mode="disabled"), limits).action_space
        assert space.low.tolist() == [-2.0] and space.high.tolist() == [3.0] and space.dtype == np.float32
    assert VectorEnv(sliding().compile(2), (1.0, 1.0)).single_action_space.high.tolist() == [1.0]
    assert dict(Env.metadata) == {"render_modes": ()}


@pytest.mark.parametrize("limits", [(1.0,), (1.0, 2.0, 3.0), (np.zeros(2), 1.0), (0.0, np.ones((1, 1)))])
def test_limits_are_the_lowest_and_the_highest_action(limits: Any) -> None:
    with pytest.raises(ShapeError, match=r"expected the lowest and the highest action, numbers or \(1,\) each$"):
        VectorEnv(sliding().compile(2), limits)


@pytest.mark.parametrize("limits", [(1.0, 0.0), (np.nan, 1.0), (0.0, np.nan)])
def test_the_lowest_action_is_not_above_the_highest(limits: Any) -> None:
    with pytest.raises(UnsupportedError, match=r"^limits=.*: expected the lowest before the highest action$"):
        VectorEnv(sliding().compile(2), limits)


@pytest.mark.parametrize(("n", "mode"), [(1, "same_step"), (2, "disabled"), (1, "next_step")])
def test_one_alone_is_reset_by_its_user(n: int, mode: str) -> None:
    said = rf"^Env: {n} environments in mode '{mode}'; give one that its user resets: compile\(1, mode=.disabled.\)$"
    with pytest.raises(UnsupportedError, match=said):
        Env(sliding().compile(n, mode=mode))


def test_observations_of_one_alone_stay_though_arrays_are_shared() -> None:
    one = Env(sliding().compile(1, mode="disabled", copy=False))
    seen = [one.reset(seed=0)[0], *(one.step(np.zeros(1))[0] for _ in range(4))]
    assert len({float(x[4]) for x in seen}) == 5, "their times"
    many = VectorEnv(sliding().compile(2, copy=False))
    many.reset(seed=0)
    finals = []
    for _ in range(14):
        infos = many.step(np.full((2, 1), 19.62))[4]
        if "final_obs" in infos:
            finals.append((infos["final_obs"][0], infos["final_obs"][0].copy()))
            assert infos["_failed"].tolist() == [True, True] and infos["final_info"].keys() == {"failed", "_failed"}
    assert len(finals) == 2 and all(np.array_equal(x, y) for x, y in finals)
