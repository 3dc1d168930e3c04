"""Counts are those of the operations that an interpreter runs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import scalar
from condyle.functions import FUNCTIONS
from condyle.ir import interp
from condyle.ir.count import Counts, count, counted, instructions, tally, work
from condyle.ir.expr import Graph
from condyle.ir.loops import Code
from condyle.ir.program import Array, Program
from condyle.ir.segments import Constant, Iteration, Product, Segmented, verify_segments, whole
from condyle.model.tree import tree_of
from condyle.specification.ports import F_EXT
from condyle.trace.loops import roll


@pytest.fixture
def executed(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Grows by what the interpreter runs: operations of Programs, and terms of products, one by one."""
    found, run, product = Counter[str](), interp.run, interp.product

    def counting_run(program: Program, *rest: Any) -> list[interp.Array]:
        found.update(node[0] for node in program.nodes)
        found["sincos"] += len({node[1] for node in program.nodes if node[0] in ("sin", "cos")})
        return run(program, *rest)

    def counting_product(what: Product, *rest: Any) -> interp.Array:
        pairs = [(columns, rows) for columns in what.across for rows in what.rows]
        found["fnma" if what.minus else "fma"] += sum(k in rows for columns, rows in pairs for k in columns)
        return product(what, *rest)

    monkeypatch.setattr(interp, "run", counting_run)
    monkeypatch.setattr(interp, "product", counting_product)
    return found


@pytest.mark.parametrize("name", ["m", "minv", "dfd"])
def test_loops_over_joints_count_what_they_run(name: str, executed: Counter[str]) -> None:
    """A tree with branches and joints of one to six degrees of freedom."""
    robot = condyle.random_tree(4, 9, floating_base=True)
    rolled = roll(tree_of(robot), FUNCTIONS[name].taking(F_EXT))
    assert rolled.branches() and len({kind.nv for kind in rolled.kinds}) > 2
    interp.run_rolled(rolled, [np.full((1, array.size), 0.5) for array in rolled.inputs])
    assert +tally(rolled) == +executed
    assert count(rolled) == counted(executed)


def squared(name: str, source: str, result: str, n: int) -> Program:
    """Squares, entry by entry, minus the sine and times the cosine of the first one."""
    g = Graph()
    x = [g.input(0, k) for k in range(n)]
    turned = (scalar.sin(x[0]), scalar.cos(x[0]))
    values = [(0, k, (x[k] * x[k] - turned[0]) * turned[1]) for k in range(n)]
    return g.program(name, (Array(source, (n,)),), (Array(result, (n,)),), values)


def segments(minus: bool, most: int) -> Segmented:
    """s = f(x), y = C s with zeros in C, z = f(f(... y))."""
    rows, across = ((0, 1, 2),), ((0, 1), (2,), (0, 2))
    product = Product(whole("C", 3), whole("s", 1), "y", rows, across, minus)
    constant = Constant("C", (1.0, 2.0, 0.0, 0.0, 0.0, 3.0, 4.0, 0.0, 5.0))
    parts = (squared("f", "x", "s", 3), product, Iteration(squared("g", "z", "z", 3), ("y",), most))
    return verify_segments(Segmented("s", (Array("x", (3,)),), (Array("z", (3,)),), (constant,), parts))


@pytest.mark.parametrize(("minus", "most"), [(False, 1), (True, 4)])
def test_segments_count_what_they_run(minus: bool, most: int, executed: Counter[str]) -> None:
    code = segments(minus, most)
    interp.run_segments(code, [np.ones((2, 3))])
    assert +tally(code) == +executed
    assert executed["fnma" if minus else "fma"] == 5
    assert executed["mul"] == 6 * (1 + most) and executed["sincos"] == 1 + most


def side_by_side(values: Sequence[Any], g: Graph) -> Program:
    outputs = [(0, k, value) for k, value in enumerate(values)]
    return g.program("p", (Array("x", (2,)),), (Array("y", (len(values),)),), outputs)


def test_what_each_count_has() -> None:
    """A sine and a cosine of one angle are one `sincos`, two operations, and no instruction; constants and inputs are
    nothing."""
    g = Graph()
    x, y = g.input(0, 0), g.input(0, 1)
    code: Code = side_by_side([scalar.sin(x), scalar.cos(x), scalar.cos(y), scalar.sqrt(x), 2.0 * y, x / y, -y], g)
    assert count(code) == Counts(mul=2, add=1, div=2, sincos=2)
    assert (work(code), instructions(code)) == (8, 5)
    assert count(code).arithmetic == 3
    g = Graph()
    expanded = side_by_side([scalar.exp(g.input(0, 0))], g)  # type: ignore[arg-type]
    assert work(expanded) == instructions(expanded) == 27
    assert count(expanded) == Counts(17, 23, 0, 0)
