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


@pytest.mark.parametrize(
    ("function", "products", "waits"),
    [("sin", 4, False), ("sin", 5, True), ("rcp", 7, False), ("sqrt", 7, True), ("floor", 9, False)],
)
def test_a_sum_waits_for_a_late_term_as_long_as_three_additions(function: str, products: int, waits: bool) -> None:
    """A chain that starts with the late term has no product of its own: one instruction less, and it ends by so many
    additions later as the others would have been done in."""

    def build(g: Graph) -> object:
        total = g.function(function, (g.input(0, 0),))
        for k in range(products):
            total = total + g.input(0, 1 + k) * g.input(0, 2 + k)
        return total

    ops = [node[0] for node in contract(program_of(build, 2 + products)).nodes if node[0] not in ("input", function)]
    assert ops == (["mul", *["fma"] * (products - 1), "add"] if waits else ["fma"] * products)


HAND: dict[str, tuple[list[tuple[object, ...]], list[str]]] = {
    "the difference of a thing and itself": ([("sub", 0, 0)], ["const 0.0"]),
    "terms that cancel in an inner sum": ([("add", 0, 1), ("sub", 4, 1), ("sub", 5, 0)], ["const 0.0"]),
    "terms of which one is left": ([("add", 0, 1), ("sub", 4, 1)], []),
    "a thing twice": ([("add", 0, 0)], ["const 2.0", "mul 1 0"]),
    "a thing three times, in two forms": (
        [("const", 2.0), ("mul", 4, 0), ("add", 5, 0), ("add", 6, 1)],
        ["const 3.0", "fma 2 0 1"],
    ),
    "a product twice": ([("mul", 0, 1), ("mul", 0, 1), ("add", 4, 5)], ["mul 0 1", "fma 0 1 2"]),
    "a product three times": (
        [("mul", 0, 1), ("mul", 0, 1), ("mul", 0, 1), ("add", 4, 5), ("add", 6, 7)],
        ["const 3.0", "mul 2 0", "mul 3 1"],
    ),
    "minus a product twice": (
        [("mul", 0, 1), ("mul", 0, 1), ("sub", 2, 4), ("sub", 6, 5)],
        ["fnma 0 1 2", "fnma 0 1 3"],
    ),
    "constants become one": (
        [("const", 1.5), ("const", -4.0), ("add", 0, 4), ("add", 5, 6)],
        ["const -2.5", "add 0 1"],
    ),
    "minus all": ([("neg", 0), ("sub", 4, 1)], ["add 0 1", "neg 2"]),
    "a product minus a thing": ([("mul", 0, 1), ("sub", 4, 2)], ["fms 0 1 2"]),
    "a thing and minus another one": ([("neg", 0), ("add", 4, 1)], ["sub 1 0"]),
    "minus a product first": ([("mul", 0, 1), ("mul", 2, 3), ("sub", 4, 5)], ["mul 0 1", "fnma 2 3 4"]),
    "a sum of negative products": (
        [("mul", 0, 1), ("mul", 2, 3), ("neg", 4), ("sub", 6, 5)],
        ["mul 0 1", "fnms 2 3 4"],
    ),
}


@pytest.mark.parametrize("name", HAND)
def test_sums_that_no_trace_has(name: str) -> None:
    """A trace combines like terms; sums that are inlined bring new ones together. Inputs that are used come first."""
    nodes, expected = HAND[name]
    program = Program(
        "p",
        (Array("x", (4,)),),
        (Array("y", (1,)),),
        (*(("input", 0, k) for k in range(4)), *nodes),  # type: ignore[arg-type]
        (Output(0, 0, 3 + len(nodes)),),
    )
    point = [Fraction(n) for n in (2, 3, 5, 7)]
    whole = verify(contract(program))
    assert exactly(whole, point) == exactly(program, point)
    assert [" ".join(map(str, node)) for node in whole.nodes if node[0] != "input"] == expected


@pytest.mark.parametrize(("length", "fused"), [(3000, False), (3001, True)])
def test_a_program_of_more_than_three_thousand_nodes_is_long(length: int, fused: bool) -> None:
    g = Graph()
    x = [g.input(0, k) for k in range(length - 3)]
    product = x[0] * x[1]
    outputs = [(0, k, product + x[k + 2]) for k in range(2)] + [(0, k, x[k]) for k in range(2, length - 3)]
    program = g.program("p", (Array("x", (len(x),)),), (Array("y", (len(x),)),), outputs)
    assert len(program) == length
    assert [node[0] for node in contract(program).nodes if node[0] != "input"] == (
        ["fma", "fma"] if fused else ["mul", "add", "add"]
    )


@pytest.mark.parametrize(("sums", "fused"), [(3, True), (4, False)])
def test_a_long_program_copies_a_product_into_three_sums_at_most(sums: int, fused: bool) -> None:
    g = Graph()
    x = [g.input(0, k) for k in range(LONG + 1)]
    product = x[0] * x[1]
    outputs = [(0, k, product + x[k + 2]) for k in range(sums)] + [(0, k, x[k]) for k in range(sums, len(x))]
    program = g.program("p", (Array("x", (len(x),)),), (Array("y", (len(x),)),), outputs)
    ops = [node[0] for node in contract(program).nodes if node[0] != "input"]
    assert ops == (["fma"] * sums if fused else ["mul", *["add"] * sums])


def test_a_sign_stays_where_others_use_the_difference() -> None:
    g = Graph()
    difference = g.input(0, 0) - g.input(0, 1)
    outputs = [(0, 0, -difference), (0, 1, difference)]  # type: ignore[operator]
    program = g.program("p", (Array("x", (2,)),), (Array("y", (2,)),), outputs)
    assert [node[0] for node in absorb_signs(program).nodes] == ["input", "input", "sub", "neg"]


def test_which_passes_run() -> None:
    assert [one.__name__ for one in pipeline.ALL] == ["dce", "absorb_signs", "contract"]
    assert (*pipeline.CLEAN, *pipeline.CODE) == pipeline.ALL and (contract,) == pipeline.CODE


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
