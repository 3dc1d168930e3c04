"""Every pass keeps the values, gives a valid Program, and has its intended effect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import pytest
from hypothesis import given, settings

from condyle import scalar
from condyle.ir.expr import Expr, Graph
from condyle.ir.program import Array, Output, Program, operands, show, verify
from condyle.passes import pipeline
from condyle.passes.contract import LONG, contract
from condyle.passes.dce import absorb_signs, dce, renumbered, uses_of
from tests.ir.programs import POINTS, STEPS, built, exactly

PASSES: dict[str, Callable[[Program], Program]] = {one.__name__: one for one in pipeline.ALL}
PASSES["all"] = lambda program: pipeline.apply(program, pipeline.ALL)


def last_only(program: Program, keep: int) -> Program:
    """The Program with a few of its outputs, so that it has dead nodes."""
    return Program(program.name, program.inputs, program.arrays, program.nodes, program.outputs[-keep:])


@pytest.mark.parametrize("name", PASSES)
@settings(max_examples=150, deadline=None)
@given(STEPS, POINTS)
def test_pass_keeps_the_meaning(name: str, steps: Sequence[tuple[str, int, int]], point: Sequence[Fraction]) -> None:
    whole, _ = built(steps, point)
    for program in (whole, last_only(whole, 2), last_only(whole, 1)):
        result = verify(PASSES[name](program))
        assert exactly(result, point) == exactly(program, point)
        assert len(result) <= len(program)
        assert (result.name, result.inputs, result.arrays) == (program.name, program.inputs, program.arrays)


@settings(max_examples=50, deadline=None)
@given(STEPS, POINTS)
def test_passes_are_done_when_they_are_done(steps: Sequence[tuple[str, int, int]], point: Sequence[Fraction]) -> None:
    program, _ = built(steps, point)
    clean = dce(last_only(program, 1))
    assert dce(clean) == clean
    assert all(uses_of(clean)), "a node that nobody uses"


def program_of(build: Callable[[Graph], object], size: int = 4) -> Program:
    g = Graph()
    return g.program("p", (Array("x", (size,)),), (Array("y", (1,)),), [(0, 0, build(g))])  # type: ignore[list-item]


def lines(program: Program) -> list[str]:
    return [line.strip() for line in show(program).splitlines()[1:-1]]


def test_contract_golden() -> None:
    program = program_of(lambda g: g.input(0, 0) * g.input(0, 1) + g.input(0, 2))
    assert lines(contract(program)) == ["t0 = x[0]", "t1 = x[1]", "t2 = x[2]", "t3 = fma t0 t1 t2", "y[0] = t3"]


@pytest.mark.parametrize(
    ("build", "op"),
    [
        (lambda a, b, c: a * b + c, "fma"),
        (lambda a, b, c: a * b - c, "fms"),
        (lambda a, b, c: c - a * b, "fnma"),
        (lambda a, b, c: -(a * b + c), "fnms"),
        (lambda a, b, c: -(a * b - c), "fnma"),
        (lambda a, b, c: -(c - a * b), "fms"),
    ],
)
def test_contract_knows_four_forms(build: Callable[..., object], op: str) -> None:
    program = contract(program_of(lambda g: build(g.input(0, 0), g.input(0, 1), g.input(0, 2))))
    assert program.nodes[-1][0] == op
    assert len(program) == 4


def test_contract_leaves_a_product_that_others_use() -> None:
    g = Graph()
    product = g.input(0, 0) * g.input(0, 1)
    outputs = [(0, 0, product + g.input(0, 2)), (0, 1, product)]
    program = g.program("p", (Array("x", (4,)),), (Array("y", (2,)),), outputs)
    assert sorted(node[0] for node in contract(program).nodes if node[0] != "input") == ["add", "mul"]


def test_contract_spells_out_sums_of_sums() -> None:
    """(a b + c d) + e + (a c - b d): four multiply-adds from e on, not a sum of products and two additions."""

    def build(g: Graph) -> object:
        a, b, c, d, e = (g.input(0, k) for k in range(5))
        return (a * b + c * d) + e + (a * c - b * d)

    program = program_of(build, size=5)
    ops = [node[0] for node in contract(program).nodes if node[0] != "input"]
    assert sorted(ops) == ["fma", "fma", "fma", "fnma"]


def test_contract_lets_a_late_term_come_last() -> None:
    """Products that are ready early do not wait for a sine."""

    def build(g: Graph, last: Expr) -> object:
        a, b, c = (g.input(0, k) for k in range(1, 4))
        return last + (a * b + a * c + b * c + a * a + b * b)

    late = program_of(lambda g: build(g, scalar.sin(g.input(0, 0))))
    assert [node[0] for node in contract(late).nodes[-6:]] == ["mul", "fma", "fma", "fma", "fma", "add"]
    soon = program_of(lambda g: build(g, g.input(0, 0)))
    assert [node[0] for node in contract(soon).nodes[-5:]] == ["fma"] * 5


@pytest.mark.parametrize(("length", "products"), [(2, 1), (LONG, 0)])
def test_long_programs_copy_products(length: int, products: int) -> None:
    """Two sums with one product: three instructions in a short Program, two in a long one."""
    g = Graph()
    x = [g.input(0, k) for k in range(length + 2)]
    product = x[0] * x[1]
    outputs = [(0, k, product + x[k + 2]) for k in range(2)] + [(0, 2 + k, x[k + 2] * x[0]) for k in range(length - 2)]
    outputs += [(0, length, scalar.sin(x[length]))]
    program = g.program("p", (Array("x", (len(x),)),), (Array("y", (length + 1,)),), outputs)
    ops = [node[0] for node in contract(program).nodes]
    assert ops.count("fma") == 2 * (1 - products)
    assert ops.count("add") == 2 * products


def test_absorb_signs_golden() -> None:
    program = program_of(lambda g: (-(g.input(0, 0) - g.input(0, 1))) * 1.0)
    assert lines(absorb_signs(program)) == ["t0 = x[0]", "t1 = x[1]", "t2 = sub t1 t0", "y[0] = t2"]


def test_dce_golden() -> None:
    g = Graph()
    kept = g.input(0, 0) + g.input(0, 1)
    scalar.sin(g.input(0, 2))
    program = g.program("p", (Array("x", (4,)),), (Array("y", (1,)),), [(0, 0, kept)])
    assert [node[0] for node in dce(program).nodes] == ["input", "input", "add"]


def test_renumbered_keeps_operands() -> None:
    program = program_of(lambda g: g.input(0, 3) - g.input(0, 1))
    turned = renumbered(program, [1, 0, 2])
    assert turned.nodes == (("input", 0, 1), ("input", 0, 3), ("sub", 1, 0))
    assert turned.outputs == (Output(0, 0, 2),)


def test_uses() -> None:
    program = program_of(lambda g: g.input(0, 0) * g.input(0, 0) + g.input(0, 0))
    uses = uses_of(program)
    assert sum(uses) == sum(len(operands(node)) for node in program.nodes) + len(program.outputs)
    assert uses == [3, 1, 1]


def test_the_pipeline_stops_at_a_pass_that_breaks_a_program() -> None:
    def breaks(program: Program) -> Program:
        return Program(program.name, program.inputs, program.arrays, program.nodes[:-1], program.outputs)

    with pytest.raises(AssertionError):
        pipeline.apply(program_of(lambda g: g.input(0, 0) + g.input(0, 1)), [breaks])
