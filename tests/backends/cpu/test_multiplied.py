"""A Program and loops that multiply its matrices: the reference's numbers on every target, whatever the batch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from condyle import Packed, Robot
from condyle.api import compiler_of
from condyle.backends.c.build import build as build_c
from condyle.backends.common.loops import AT_ONCE
from condyle.backends.cpu.build import build, load, object_code, supported
from condyle.backends.cpu.loops import COPY, PRODUCT, WORDS, assemble_segments
from condyle.compile import routes as routing
from condyle.functions import FUNCTIONS
from condyle.ir.expr import Graph
from condyle.ir.interp import run_segments
from condyle.ir.program import Array, Program
from condyle.ir.segments import Product, Segmented, whole
from condyle.model.tree import tree_of
from condyle.runtime import machine, native
from condyle.runtime.native import Kernel
from condyle.scalar import sin
from condyle.specification.ports import F_EXT
from condyle.trace.reference import evaluate
from condyle.trace.straight import rows_of
from tests.processor import slow
from tests.zoo import every_joint

pytestmark = pytest.mark.skipif(not supported(), reason="this processor or installation runs no machine code of ours")
STATES = 35
TOLERANCE = {"float64": 2e-12, "float32": 1e-3}  # a condition of some hundreds; 6e-14 and 3e-5 were measured


@pytest.fixture(
    scope="module", params=[("dfd", False), slow(("difd", False)), slow(("dfd", True)), slow(("difd", True))]
)
def case(request: pytest.FixtureRequest) -> tuple[Robot, Segmented, list[np.ndarray], list[np.ndarray]]:
    """A robot of all joint types, one of which mimics; its code, some states, what the reference answers."""
    function, floating = request.param
    robot = Robot.from_data(every_joint(floating))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(routing, "LONGEST", 0)
        code = compiler_of(robot).code(FUNCTIONS[function].taking(F_EXT))
    assert isinstance(code, Segmented)
    rng = np.random.default_rng(2)
    q, v = robot.random_state(STATES, rng)
    known = {"q": q, "v": v, "a": rng.normal(size=v.shape), "tau": rng.normal(size=v.shape)}
    known["f_ext"] = rng.normal(size=(STATES, 6 * len(robot.bodies)))
    known["Minv"] = evaluate(tree_of(robot), FUNCTIONS["minv"], "ltl", known)[0]
    inputs = [known[array.name].reshape(STATES, -1) for array in code.inputs]
    forced = FUNCTIONS[function].taking(F_EXT)
    flat = {port.name: known[port.name] for port in forced.inputs}
    route = "ltl+closed_form" if function == "dfd" else "closed_form"
    return robot, code, inputs, [x.reshape(STATES, -1) for x in evaluate(tree_of(robot), forced, route, flat)]


def answers(kernel: Kernel, code: Segmented, inputs: list[np.ndarray], threads: int = 1) -> list[np.ndarray]:
    inputs = [np.ascontiguousarray(x, kernel.dtype) for x in inputs]
    outputs = [np.full((len(inputs[0]), array.size), np.nan, kernel.dtype) for array in code.arrays]
    kernel(len(inputs[0]), inputs, outputs, threads)
    return outputs


def agree(found: list[np.ndarray], expected: list[np.ndarray], tolerance: float) -> None:
    for x, y in zip(found, expected, strict=True):
        assert np.abs(x.reshape(y.shape) - y).max() <= tolerance * np.abs(y).max()


@pytest.mark.slow
def test_every_target_agrees_with_the_reference(
    case: tuple[Robot, Segmented, list[np.ndarray], list[np.ndarray]],
) -> None:
    robot, code, inputs, expected = case
    agree(run_segments(code, inputs), expected, TOLERANCE["float64"])
    for dtype, tolerance in TOLERANCE.items():
        for isa in supported():
            agree(answers(build(code, dtype, isa), code, inputs), expected, tolerance)
    dtype = "float64" if robot.joints[0].type == "free" else "float32"  # the C compiler takes seconds for each
    agree(answers(build_c(code, compiler_of(robot).facts, dtype), code, inputs), expected, TOLERANCE[dtype])


def test_place_in_the_batch_and_threads_change_no_bit(
    case: tuple[Robot, Segmented, list[np.ndarray], list[np.ndarray]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(native, "PIECE_NS", 0.001)
    _, code, inputs, _ = case
    kernel = build(code)
    whole = answers(kernel, code, inputs)
    assert all((a == b).all() for a, b in zip(whole, answers(kernel, code, inputs, 3), strict=True))
    for start, end in ((1, 2), (3, 11), (8, 24), (0, 17), (2, 35)):
        part = answers(kernel, code, [x[start:end] for x in inputs])
        assert all((a[start:end] == b).all() for a, b in zip(whole, part, strict=True))


def test_packed_arrays_hold_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two legs and a mimic joint on a fixed base: zeros between limbs are not kept."""
    monkeypatch.setattr(routing, "LONGEST", 0)
    robot = Robot.from_data(every_joint())
    q, v = robot.random_state(11, 0)
    dyn = robot.compile()
    assert "products rolled" in dyn.explain()
    x, y = dyn.pack(q), dyn.pack(v)
    for short, plain in zip(
        dyn.forward_dynamics_derivatives(x, y, y), dyn.forward_dynamics_derivatives(q, v, v), strict=True
    ):
        assert isinstance(short, Packed)
        assert np.array_equal(short.dense(), plain)


def test_what_leads_out_of_its_tables_is_refused(
    case: tuple[Robot, Segmented, list[np.ndarray], list[np.ndarray]],
) -> None:
    _, code, _, _ = case
    isa = supported()[0]
    made = object_code(code, assemble_segments(code, isa, 64), isa.name, 64)
    load(made)
    numbers = np.frombuffer(made.numbers, np.int64)
    words = len(numbers) - int(numbers[5])
    refused = 0
    for k in range(words, len(numbers)):
        for value in (-1, 1 << 40):
            bad = numbers.copy()
            bad[k] = value
            with pytest.raises(ValueError, match="do not fit"):
                machine.plan(
                    made.isa, 64, made.text, made.constants, made_slots(made.slots).tolist(), made.values, bad.tolist()
                )
            refused += 1
    assert refused > 20


@pytest.mark.parametrize("bad", [(0, 1 << 30), (1, 0), (1, 4), (2, 1 << 30), (3, 1 << 20)])
def test_blocks_that_lead_out_of_a_matrix_are_refused(
    case: tuple[Robot, Segmented, list[np.ndarray], list[np.ndarray]], bad: tuple[int, int]
) -> None:
    """How many first lines, columns and terms, and the lines themselves."""
    _, code, _, _ = case
    isa = supported()[0]
    made = object_code(code, assemble_segments(code, isa, 64), isa.name, 64)
    numbers, slots = np.frombuffer(made.numbers, np.int64), made_slots(made.slots).copy()
    words = numbers[len(numbers) - int(numbers[5]) :]
    at = WORDS
    while words[at] != PRODUCT:
        assert words[at] == COPY
        at += 3
    slots[words[at + 12] + bad[0]] = bad[1]
    with pytest.raises(ValueError, match="do not fit"):
        machine.plan(made.isa, 64, made.text, made.constants, slots.tolist(), made.values, numbers.tolist())


def test_answers_of_an_early_segment_stay() -> None:
    """A later Program has slots of its own."""

    def program(name: str, answer: str, step: Callable[[Any], Any]) -> Program:
        graph = Graph()
        entries = [graph.input(0, k) for k in range(3)]
        return graph.program(name, x, (Array(answer, (3,)),), [(0, k, step(entry)) for k, entry in enumerate(entries)])

    x = (Array("x", (3,)),)
    first = program("first", "y", lambda entry: entry * entry)
    second = program("second", "z", lambda entry: sin(entry) * entry - 2.0 * entry)
    code = Segmented("two", x, (*first.arrays, *second.arrays), (), (first, second))
    states = np.random.default_rng(4).normal(size=(STATES, 3))
    expected = [states * states, np.sin(states) * states - 2.0 * states]
    agree(run_segments(code, [states]), expected, 1e-15)
    for isa in supported():
        agree(answers(build(code, "float64", isa), code, [states]), expected, 1e-15)  # a few roundings


def test_few_lines_and_many() -> None:
    """Blocks cover every entry of the result, and read no row that is zero."""
    for n in (1, 3, 5, 8, 13):
        rng = np.random.default_rng(n)
        left, right = (rng.random((n, n)) < 0.5 for _ in range(2))
        product = Product(whole("a", n), whole("b", n), "c", rows_of(right), rows_of(left.T))
        met = np.zeros((n, n), dtype=np.bool_)
        for first, columns, terms in product.blocks(AT_ONCE):
            together = AT_ONCE[len(columns)] if n >= AT_ONCE[len(columns)] else 1
            for lines in (range(f, f + together) for f in first):
                met[np.ix_(lines, columns)] = True
                assert right[np.ix_(terms, columns)].all()
                others = sorted(set(range(n)) - set(terms))
                assert not (left[np.ix_(lines, others)] @ right[np.ix_(others, columns)]).any()
        assert met.all()
        assert product.terms() == int((left.astype(int) @ right.astype(int)).sum())


def made_slots(data: bytes) -> np.ndarray:
    return np.frombuffer(data, np.uint32)
