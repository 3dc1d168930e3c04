"""A function that is repeated inside another one: a loop on every target, written out in the reference."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import condyle
from condyle.backends.common.facts import Facts
from condyle.backends.cpu.assemble import AGAIN
from condyle.backends.cpu.build import load, object_code, supported
from condyle.backends.cpu.loops import assemble_segments
from condyle.compile.compiler import Compiler
from condyle.compile.gpu import GpuFunction, GpuKernels
from condyle.derivatives.composed import Composed
from condyle.errors import UnsupportedError
from condyle.functions.repeat import iterate, repeat
from condyle.ir.loops import TimeLoop
from condyle.ir.segments import Iteration, Segmented, verify_segments
from condyle.model.tree import tree_of
from condyle.runtime import machine
from condyle.scalar import absolute, maximum, reciprocal, select
from condyle.specification import Function, Numerics, Port, Route, Size, Ways
from condyle.user.function import UserFunction
from tests.backends.cuda.simulate import simulate

N, MOST = 3, 40
ROBOT = condyle.load("iiwa14")


def port(name: str, *dims: int) -> Port:
    return Port(name, tuple(map(str, dims)), "1", "none", "a number")


def function(name: str, inputs: tuple[Port, ...], outputs: tuple[Port, ...], run: Any, **rules: Any) -> Function:
    route = Route(run, recorded=isinstance(run, Composed))
    ways = Ways(lambda: {"way": route}, lambda: rules)
    return Function(name, name, "a test", inputs, outputs, ways, Numerics(Size(0)), content=name)


def _newton(sweeps: Any) -> tuple[object, ...]:
    x, a = sweeps.inputs["x"], sweeps.inputs["a"]
    new = [0.5 * (own + other * reciprocal(own)) for own, other in zip(x, a, strict=True)]
    worst = absolute(new[0] - x[0])
    for before, after in zip(x[1:], new[1:], strict=True):
        worst = maximum(worst, absolute(after - before))
    return new, [worst], [select(1e-9 - worst, 1.0, 0.0)]


NEWTON = function("newton", (port("x", N), port("a", N)), (port("x", N), port("change"), port("done")), _newton)
LOOP = iterate(NEWTON, MOST)


def _root(recording: Any, inputs: Any) -> list[Any]:
    """x², where x² = 2 a, so that it is 2 a."""
    x, change, _, count = recording.call(LOOP, [1.0] * N, [2.0 * value for value in inputs["a"]])
    return [[value * value for value in x], change, count]


ROOT = function(
    "root",
    (port("a", N),),
    (port("y", N), port("change"), port("count")),
    Composed(_root),
    jvp=lambda calls, inputs: {"dy": [2.0 * x for x in inputs["da"]], "dchange": [0.0], "dcount": [0.0]},
    vjp=lambda calls, inputs: {"a_bar": [2.0 * x for x in inputs["y_bar"]]},
)


def turned(sweeps: Any) -> tuple[object, ...]:
    x, y, z = sweeps.inputs["x"]
    return ([y, z, x],)


TURN = function("turn", (port("x", N),), (port("x", N),), turned)
FIVE = function(
    "five",
    (port("a", N),),
    (port("y", N),),
    Composed(lambda recording, inputs: list(recording.call(repeat(TURN, 5, last=True), inputs["a"]))),
)


def user(called: Function, names: tuple[str, ...]) -> UserFunction:
    """A user's function of q and a that calls this one at a² + q[0]."""

    def f(at: Any, a: Any) -> dict[str, Any]:
        answers = at._caller.call(called, (a * a + at.q[0],), "")
        return dict(zip(names, answers, strict=True))

    return ROBOT.function(f, inputs={"q": "nq", "a": N})


@pytest.fixture(scope="module")
def root() -> UserFunction:
    return user(ROOT, ("y", "change", "count"))


@pytest.fixture(scope="module")
def states() -> tuple[np.ndarray, np.ndarray]:
    """Positive numbers of many sizes; one state is NaN, one needs the fewest steps."""
    random = np.random.default_rng(20261127)
    q, a = np.zeros((100, 7)), 10.0 ** random.uniform(-1, 3, (100, N))
    a[3], a[5] = np.nan, np.sqrt(0.5)
    return q, a


@pytest.mark.parametrize("target", ["numpy", "cpu", "c"])
def test_every_state_ends_by_itself(root: UserFunction, states: Any, target: str) -> None:
    q, a = states
    compiled = root.compile(target, threads=2)
    answers, whole = compiled(q, a), root.reference(q, a)
    np.testing.assert_allclose(answers.y, 2.0 * a * a, rtol=1e-14)
    np.testing.assert_array_equal(answers.count, whole.count)
    assert answers.count[3] == MOST and answers.count[5] == 1 and len(set(answers.count)) > 8
    assert answers.change[[k for k in range(100) if k != 3]].max() <= 1e-9
    for part in (slice(0, 1), slice(2, 12), slice(5, 6)):  # done states of a tile keep their answers
        for some, every in zip(compiled(q[part], a[part]), answers, strict=True):
            np.testing.assert_array_equal(some, every[part])
    for alone, every in zip(compiled(q[7], a[7]), answers, strict=True):
        np.testing.assert_array_equal(alone, every[7])


def test_written_out_is_the_loop(root: UserFunction, states: Any) -> None:
    q, a = states
    for written, loop in zip(root.reference(q, a), root.compile("numpy")(q, a), strict=True):
        np.testing.assert_array_equal(written, loop)


@pytest.mark.parametrize("target", ["numpy", "cpu", "c"])
def test_entries_change_places(target: str) -> None:
    """What a step only moves is read before it is written over."""
    a = np.random.default_rng(1).uniform(1, 2, (9, N))
    answer = user(FIVE, ("y",)).compile(target)(np.zeros(7), a)
    np.testing.assert_array_equal(answer, np.roll(a * a, -5, axis=1))


def test_a_rule_serves_all_derivatives(states: Any) -> None:
    q, a = np.zeros(7), states[1][10:14]

    def f(at: Any, a: Any) -> dict[str, Any]:
        y, _, _ = at._caller.call(ROOT, (a * a + 0.0 * at.q[0],), "")
        return {"z": y @ y}

    compiled = ROBOT.function(f, inputs={"q": "nq", "a": N}).compile()
    np.testing.assert_allclose(compiled(q, a), 4.0 * (a**4).sum(1), rtol=1e-13)
    np.testing.assert_allclose(compiled.vjp()(q, a, np.ones(4))[1], 16.0 * a**3, rtol=1e-13)
    np.testing.assert_allclose(compiled.jacobian("a")(q, a), 16.0 * a**3, rtol=1e-13)
    np.testing.assert_allclose(compiled.jvp()(q, a, np.zeros(7), np.ones(N)), (16.0 * a**3).sum(1), rtol=1e-13)
    hessian = compiled.hessian()(q, a)[:, 7:, 7:]
    np.testing.assert_allclose(hessian, 48.0 * a[:, :, None] ** 2 * np.eye(N), rtol=1e-13)


def test_without_a_rule_a_derivative_is_refused() -> None:
    q, a = np.zeros(7), np.ones(N)
    with pytest.raises(UnsupportedError, match="inside another function a loop over time has"):
        user(FIVE, ("y",)).compile().vjp()(q, a, np.ones(N))


def test_a_loop_in_a_loop(root: UserFunction) -> None:
    """A rollout of a function that has a loop inside."""

    def f(at: Any, a: Any) -> dict[str, Any]:
        y, _, _ = at._caller.call(ROOT, (a + 0.0 * at.q[0],), "")
        return {"a": y * 0.75}

    a = np.random.default_rng(2).uniform(1, 2, (20, N))
    compiled = ROBOT.function(f, inputs={"q": "nq", "a": N}).compile()
    answer = compiled.rollout(np.zeros(7), a, steps=4, last=True)
    np.testing.assert_allclose(answer, a * 1.5**4, rtol=1e-13)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_kernels_of_a_gpu(root: UserFunction, states: Any, dtype: str) -> None:
    """A launch for what is before the loop, one for the loop, one for what is behind it; interpreted here."""
    router = Compiler(tree_of(ROBOT), Facts(ROBOT.nq, ROBOT.nv))
    gpu = GpuFunction(GpuKernels(router), root.specification, dtype, 132)
    parts = gpu.launches(gpu.form(40))
    inputs = [np.asarray(x[:40], dtype) for x in states]
    assert len(parts.launches) == 3 and gpu.us(gpu.form(40), 40) > 0.0 and gpu.repeated(TimeLoop(1, (), ())) is None
    y, _, count = (answer.reshape(40, -1) for answer in simulate(parts, inputs))
    expected = root.compile("numpy", dtype)(*inputs)
    np.testing.assert_allclose(y, expected.y, rtol=1e-13 if dtype == "float64" else 1e-5)
    if dtype == "float64":  # else steps end where rounding says so
        np.testing.assert_array_equal(count[:, 0], expected.count)


def test_what_is_said(root: UserFunction) -> None:
    assert f"a loop of at most {MOST} times" in root.compile().explain(4)


def test_an_iteration_keeps_its_rules() -> None:
    code = Compiler(tree_of(ROBOT), Facts(ROBOT.nq, ROBOT.nv)).code(ROOT)
    assert isinstance(code, Segmented)
    (loop,) = code.iterations
    for broken in (loop._replace(most=0), loop._replace(starts=loop.starts[1:]), loop._replace(until=0)):
        segments = tuple(broken if isinstance(part, Iteration) else part for part in code.segments)
        with pytest.raises(AssertionError):
            verify_segments(Segmented(code.name, code.inputs, code.arrays, code.constants, segments))


@pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
def test_a_loop_that_leads_elsewhere_is_refused() -> None:
    """The step to go back to, the slot of the flag, how many times; another loop inside."""
    code, isa = Compiler(tree_of(ROBOT), Facts(ROBOT.nq, ROBOT.nv)).code(ROOT), supported()[0]
    assert isinstance(code, Segmented)
    made = object_code(code, assemble_segments(code, isa, 64), isa.name, 64)
    load(made)
    numbers = np.frombuffer(made.numbers, np.int64)
    steps = 6 + 4 * int(numbers[1] + numbers[2])
    (place,) = (k for k in range(int(numbers[3])) if numbers[steps + 3 * k] == AGAIN)
    words = len(numbers) - int(numbers[5]) + int(numbers[steps + 3 * place + 1])

    def refused(changes: dict[int, int]) -> None:
        bad = numbers.copy()
        for k, value in changes.items():
            bad[k] = value
        with pytest.raises(ValueError, match="do not fit"):
            machine.plan(
                made.isa,
                64,
                made.text,
                made.constants,
                np.frombuffer(made.slots, np.uint32).tolist(),
                made.values,
                bad.tolist(),
            )

    for wrong in ({words: place}, {words: -1}, {words + 1: -2}, {words + 1: 1 << 40}, {words + 2: 0}):
        refused(wrong)
    refused({steps + 3 * place + 2: 2})
    refused({steps + 3 * place + 1: int(numbers[5]) - 2})
    inner = steps + 3 * (place - 1)
    refused({inner: AGAIN, inner + 1: int(numbers[steps + 3 * place + 1]), inner + 2: 3})
