"""Environments in JAX: the bits of the steps, in `jit` and in `scan`; seeds and masks; derivatives; what is refused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import DTypeError, ShapeError, UnsupportedError
from tests.jobs.environment_cases import actions, environment, sliding
from tests.refusals import refuses

jax: Any = pytest.importorskip("jax", reason="pip install 'condyle[jax]'")
import jax.numpy as jnp  # noqa: E402

from condyle.interop.jax import wrap  # noqa: E402


@pytest.fixture(autouse=True, scope="module")
def double_precision() -> Iterator[None]:
    before = jax.config.jax_enable_x64
    jax.config.update("jax_enable_x64", True)
    yield
    jax.config.update("jax_enable_x64", before)


def equal(state: Any, expected: Any) -> None:
    assert state.keys() == expected.keys()
    assert all(np.array_equal(x, expected[name]) for name, x in state.items())


def test_a_scan_has_the_bits_of_the_steps() -> None:
    envs, path = environment().compile(5), actions(5, 40)
    far = wrap(environment().compile(5))
    state = far.reset(0)
    assert np.array_equal(state["observation"], envs.reset(seed=0))
    step = jax.jit(far.step)

    def body(state: Any, action: Any) -> Any:
        state, *answers = far.step(state, action)
        return state, answers

    end, rows = jax.lax.scan(body, state, jnp.asarray(path))
    ends = 0
    for k, action in enumerate(path):
        *expected, info = envs.step(action)
        state, *answers, more = step(state, action)
        for x, y, row in zip(answers, expected, rows[:4], strict=True):
            assert np.array_equal(x, y) and np.array_equal(row[k], y)
        for name in ("failed", "residual", "final_obs", "_final_obs"):
            assert np.array_equal(more[name], info[name]) and np.array_equal(rows[4][name][k], info[name]), name
        ends += int(info["_final_obs"].sum())
    assert ends >= 5
    equal(state, envs.state())
    equal(end, envs.state())


@pytest.mark.parametrize("mode", ["next_step", "disabled"])
def test_modes_are_those_that_were_compiled(mode: str) -> None:
    envs, far = sliding().compile(3, mode=mode), wrap(sliding().compile(3, mode=mode))
    envs.reset(seed=1)
    state, mask = far.reset(1), np.zeros(3, bool)
    for k, action in enumerate(20.0 * actions(3, 9) + 20.0):
        target = 0.1 * k
        *expected, info = envs.step(action, target=target)
        state, *answers, more = far.step(state, action, target=target)
        assert all(np.array_equal(x, y) for x, y in zip(answers, expected, strict=True))
        assert more.keys() == info.keys() == {"failed"}
        mask |= answers[2] | answers[3]
    assert mask.any()
    equal(state, envs.state())
    envs.reset(mask=mask)
    equal(far.reset(state=state, mask=mask), envs.state())
    envs.reset(seed=[4, 5, 6], mask=mask)
    equal(far.reset([4, 5, 6], state, mask), envs.state() | {"episode": far.reset([4, 5, 6], state, mask)["episode"]})


def test_a_seed_may_be_a_key() -> None:
    far = wrap(sliding().compile(3))
    begun = jax.jit(far.reset)
    keys = jax.random.split(jax.random.key(0), 2)
    first, second, raw = begun(keys[0]), begun(keys[1]), far.reset(jax.random.key_data(keys[0]))
    assert np.array_equal(first["observation"], raw["observation"])
    assert not np.any(first["q"] == second["q"]) and len(set(np.ravel(first["q"]).tolist())) == 3


def test_derivatives_are_those_of_the_step() -> None:
    robot = condyle.chain(1)
    env = condyle.Environment(
        robot, lambda at: at.q, lambda at, action: (at.q**2).sum() + at.v.sum() + 0.1 * (action**2).sum(), substeps=1,
        reset=lambda draws: {"q": draws}, draws=1, dt=0.1,
    )  # fmt: skip
    far = wrap(env.compile(2, "float64"))
    start = far.reset(0)

    def total(action: Any, q: Any) -> Any:
        state, _, first, *_ = far.step(start | {"q": q}, action)
        return first.sum() + far.step(state, 2.0 * action)[2].sum()

    action, q = jnp.full((2, 1), 0.3), start["q"]
    slopes = jax.jit(jax.grad(total, argnums=(0, 1)))(action, q)
    for k in range(2):
        for row in range(2):
            change = np.zeros((2, 1))
            change[row] = 1e-6
            pairs = [(action + sign * change, q) if k == 0 else (action, q + sign * change) for sign in (1.0, -1.0)]
            difference = (total(*pairs[0]) - total(*pairs[1])) / 2e-6
            assert slopes[k][row, 0] == pytest.approx(float(difference), rel=1e-7)


def test_what_does_not_fit_is_refused() -> None:
    far = wrap(sliding().compile(2))
    state = far.reset(0)
    with pytest.raises(UnsupportedError, match="without state= it needs a seed, and no mask"):
        far.reset()
    with pytest.raises(ShapeError, match=r"mask has shape \(3,\), expected \(2,\)"):
        far.reset(state=state, mask=np.ones(3))
    with pytest.raises(ShapeError, match="3 seeds for 2 environments"):
        far.reset([1, 2, 3])
    with pytest.raises(UnsupportedError, match="a key of jax"):
        far.reset(jnp.zeros(3))
    with pytest.raises(UnsupportedError, match="there is no input 'foo'; inputs of the environment are: target"):
        far.step(state, jnp.zeros((2, 1)), foo=1.0)
    with pytest.raises(ShapeError, match=r"action has shape \(2, 3\)"):
        far.step(state, jnp.zeros((2, 3), jnp.float32))
    with pytest.raises(DTypeError, match="action is float64, expected float32"):
        far.step(state, jnp.zeros((2, 1)))


def test_words_of_a_key_are_its_last_two_modulo_the_largest_number() -> None:
    far = wrap(sliding().compile(2))
    words = jnp.array([7, (1 << 23) + 5, (1 << 25) + 3], jnp.uint32)
    assert far._words(words).tolist() == [5, 3] and far._words(words[1:]).tolist() == [5, 3]
    for wrong in (words[:1], words.astype(jnp.int32), words[None], jnp.uint32(7)):
        said = f"reset: seed is an array {wrong.shape} of {wrong.dtype}; give a whole number, n of them, or a key of ja"
        refuses(f"{said}...", lambda seed=wrong: far.reset(seed))


def test_a_mask_begins_what_is_above_a_half() -> None:
    far = wrap(sliding().compile(4))
    state = far.reset(0) | {"step": jnp.ones(4, jnp.float32)}
    begun = far.reset(state=state, mask=[0.0, 0.5, 0.51, 1.0])
    assert begun["episode"].tolist() == [0.0, 0.0, 1.0, 1.0] and begun["step"].tolist() == [1.0, 1.0, 0.0, 0.0]
    again = far.reset(3, state, [0.0, 0.5, 0.51, 1.0])
    assert again["episode"].tolist() == [0.0] * 4
    same_seed = (again["seed"] == state["seed"]).all(axis=1)
    assert same_seed.tolist() == [True, True, False, False]
    for arguments in ({"mask": np.ones(4)}, {"seed": 1, "mask": np.ones(4)}, {}):
        with pytest.raises(
            UnsupportedError, match=r"^reset: without state= it needs a seed, and no mask; give reset\(se"
        ):
            far.reset(**arguments)


def test_an_environment_without_inputs_says_so() -> None:
    far = wrap(condyle.Environment(condyle.chain(1), lambda at: at.q, lambda at: at.q[0]).compile(1))
    with pytest.raises(UnsupportedError, match=r"^step: there is no input 'foo'; inputs of the environment are: none$"):
        far.step({}, jnp.zeros((1, 1), jnp.float32), foo=1.0)
