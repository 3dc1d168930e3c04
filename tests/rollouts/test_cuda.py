"""Target cuda: one kernel with the loop inside, run by the PTX interpreter, equals repeated steps within rounding."""

from __future__ import annotations

from typing import Any, cast

import numpy as np
import pytest

import condyle
from condyle.backends.cuda import time_loop as repeat
from condyle.backends.cuda.kernel import assemble
from condyle.backends.cuda.launches import Parts
from condyle.functions import function_of
from condyle.functions.repeat import iterate
from condyle.functions.repeat import repeat as repeat_of
from condyle.ir.interp import run_repeated
from condyle.ir.loops import Give, Repeated, Take, TimeLoop
from condyle.ir.program import Array, Program
from condyle.trace.loops import time_loop
from tests.backends.cuda.simulate import compiler, simulate
from tests.rollouts.test_c import robot_of, states, swap


def looped(body: Program, loop: TimeLoop, bits: int = 64) -> tuple[Repeated, Parts]:
    inputs = [
        Array(array.name, (loop.rows(take.every), *array.shape))
        for take, array in zip(loop.takes, body.inputs, strict=True)
    ]
    outputs = [
        Array(body.arrays[give.output].name, (loop.rows(give.every), *body.arrays[give.output].shape))
        for give in loop.gives
    ]
    code = Repeated("made", body, loop, tuple(inputs), tuple(outputs))
    return code, repeat.parts("made", body, loop, bits, repeat.texts(body, repeat.Kind.from_loop(loop), bits))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("bits", [64, 32])
def test_every_way_to_take_and_to_give(backwards: bool, bits: int) -> None:
    body, rng = swap(), np.random.default_rng(1)
    for takes, gives in (
        ((Take(1), Take(0), Take(every=1)), (Give(0, 1), Give(1), Give(2, summed=True))),
        ((Take(0, 2), Take(-1, 3), Take()), (Give(1, 2), Give(0, summed=True), Give(2, 4))),
        ((Take(), Take(1, 1), Take(-1, 7)), (Give(2), Give(1, 7))),
    ):
        code, made = looped(body, TimeLoop(7, takes, gives, backwards), bits)
        for n in (1, 37):
            one = [n > 1 and k == 2 for k in range(3)]
            inputs = [
                rng.uniform(-1, 1, (1 if alone else n, array.size)).astype(f"f{bits // 8}")
                for alone, array in zip(one, code.inputs, strict=True)
            ]
            wanted = run_repeated(code, [x.astype(np.float64) for x in inputs])
            for x, y in zip(simulate(made, inputs), wanted, strict=True):
                np.testing.assert_allclose(x, y.reshape(n, -1), rtol=0, atol=1e-12 if bits == 64 else 1e-4)


@pytest.mark.parametrize(
    "robot",
    [
        pytest.param(condyle.random_tree(3, rng=2), id="random"),
        pytest.param(robot_of(False), id="zoo", marks=pytest.mark.slow),
        pytest.param(robot_of(True), id="zoo_floating", marks=pytest.mark.slow),
    ],
)
def test_repeated_steps(robot: condyle.Robot) -> None:
    body = cast(Program, compiler(robot).code(function_of("step")))
    q, v, tau, dt = states(robot, 5, 3)
    names = ("rollout_3_by_tau_of_step", "rollout_3_by_tau_every_2_of_step", "rollout_3_by_tau_last_of_step")
    for name, torques in (*((name, tau) for name in names), ("rollout_3_last_of_step", tau[:, 0])):
        given = (q, v, torques, dt)
        flat = [x.reshape(len(x), -1) for x in given]
        repeated = function_of(name).repeat
        assert repeated is not None
        _, made = looped(body, time_loop(repeated))
        wanted = robot.compile(target="numpy").call(name, given)
        for x, y in zip(simulate(made, flat), wanted, strict=True):
            np.testing.assert_allclose(x, y.reshape(5, -1), rtol=0, atol=1e-11)


def halved(x: Any, a: Any) -> dict[str, Any]:
    """Exact in binary; done where both are small, never where one is no number."""
    y = 0.5 * x + a
    return {"x": y, "done": 1.0 - np.max(np.abs(y)), "moved": y - x, "cost": np.abs(x).sum()}


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("summed", [(), ("cost",)])
def test_states_that_end_keep_their_answers(bits: int, summed: tuple[str, ...]) -> None:
    f = condyle.function(halved, inputs={"x": 2, "a": ()}).compile("numpy")
    body = cast(Program, f.dynamics._compiler.code(f.specification))
    rng = np.random.default_rng(0)
    for n, most in ((1, 12), (37, 12), (64, 5), (37, 1)):
        repeated = iterate(f.specification, most, summed=summed).repeat
        assert repeated is not None
        loop = time_loop(repeated)
        made = repeat.parts("made", body, loop, bits, repeat.texts(body, repeat.Kind.from_loop(loop), bits))
        x = np.float32(rng.choice([0.25, 1.5, 3.0, 40.0, 500.0, np.nan], (n, 2))).astype(f"f{bits // 8}")
        a = np.zeros((1, 1), f"f{bits // 8}")
        names = (Array("iterations", ()),)
        code = Repeated("made", body, loop, body.inputs, (*body.arrays, *names))
        wanted = run_repeated(code, [x, a[:, 0]], x.dtype.type)
        for got, exact in zip(simulate(made, [x, a]), wanted, strict=True):
            np.testing.assert_array_equal(got, exact.reshape(n, -1))


@pytest.mark.parametrize("bits", [64, 32])
@pytest.mark.parametrize("ends", [False, True])
def test_a_loop_is_assembled(bits: int, ends: bool) -> None:
    made = condyle.function(halved, inputs={"x": 2, "a": ()}).compile("numpy")
    f, body = made.specification, cast(Program, made.dynamics._compiler.code(made.specification))
    repeated = (iterate(f, 9, summed=("cost",)) if ends else repeat_of(f, 9, ("a",), 2)).repeat
    assert repeated is not None
    loop = time_loop(repeated)
    (part,) = repeat.parts("made", body, loop, bits, repeat.texts(body, repeat.Kind.from_loop(loop), bits)).launches
    assert assemble(part, "sm_90").usage.spill_stores == 0
