"""Programs as data: the verifier, the text, the counts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.ir.count import Counts, count, instructions
from condyle.ir.expr import Graph
from condyle.ir.program import Array, Output, Program, operands, show, verify
from condyle.passes.contract import contract

pytestmark = pytest.mark.smoke


def small() -> Program:
    """tau = 0.5 sin(q0) a0 - q1 / a0; M = [[q1, 0], [0, q1]]."""
    g = Graph()
    q0, q1, a0 = g.input(0, 0), g.input(0, 1), g.input(1, 0)
    tau = 0.5 * scalar.sin(q0) * a0 - q1 / a0
    arrays = (Array("tau", (1,)), Array("M", (2, 2)))
    return g.program("small", (Array("q", (2,)), Array("a", (1,))), arrays, [(0, 0, tau), (1, 0, q1), (1, 3, q1)])


GOLDEN = """\
program small {
t0 = q[0]
t1 = q[1]
t2 = a[0]
t3 = sin t0
t4 = 0.5
t5 = mul t4 t3
t6 = mul t2 t5
t7 = rcp t2
t8 = mul t1 t7
t9 = sub t6 t8
tau[0] = t9
M[0] = t1
M[3] = t1
}
"""


def test_text() -> None:
    assert "\n".join(line.strip() for line in show(small()).splitlines()) + "\n" == GOLDEN


def test_counts() -> None:
    assert count(small()) == Counts(mul=3, add=1, div=1, sincos=1)
    assert count(small()).arithmetic == 4
    assert instructions(contract(small())) == 4  # two products, a reciprocal, one fused


def test_sine_and_cosine_of_one_angle_count_once() -> None:
    g = Graph()
    x = g.input(0, 0)
    program = g.program("p", (Array("x", (1,)),), (Array("y", (2,)),), [(0, 0, scalar.sin(x)), (0, 1, scalar.cos(x))])
    assert count(program).sincos == 1


def test_operands() -> None:
    assert operands(("const", 3.0)) == ()
    assert operands(("input", 0, 1)) == ()
    assert tuple(operands(("fma", 4, 5, 6))) == (4, 5, 6)


def test_verify_passes_what_is_sound() -> None:
    assert verify(small()) == small()


BROKEN = {
    "unknown operation": lambda p: replace(p, nodes=(*p.nodes, ("pow", 0, 1))),
    "wrong arity": lambda p: replace(p, nodes=(*p.nodes, ("add", 0))),
    "uses a later node": lambda p: replace(p, nodes=(("neg", 1), *p.nodes[1:])),
    "uses itself": lambda p: replace(p, nodes=(*p.nodes, ("neg", len(p.nodes)))),
    "uses a negative number": lambda p: replace(p, nodes=(*p.nodes, ("neg", -1))),
    "constant is not a float": lambda p: replace(p, nodes=(*p.nodes, ("const", 1))),
    "input that is not there": lambda p: replace(p, nodes=(*p.nodes, ("input", 2, 0))),
    "entry beyond an input": lambda p: replace(p, nodes=(*p.nodes, ("input", 0, 2))),
    "output node that is not there": lambda p: replace(p, outputs=(Output(0, 0, len(p.nodes)),)),
    "output array that is not there": lambda p: replace(p, outputs=(Output(2, 0, 0),)),
    "entry beyond an output": lambda p: replace(p, outputs=(Output(0, 1, 0),)),
    "output written twice": lambda p: replace(p, outputs=(*p.outputs, p.outputs[0])),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_verify_catches(fault: str) -> None:
    with pytest.raises((AssertionError, KeyError)):
        verify(BROKEN[fault](small()))


def test_a_number_that_is_not_finite_is_the_users() -> None:
    for number in (float("inf"), float("nan")):
        with pytest.raises(UnsupportedError, match="divided by what is zero in every state"):
            verify(replace(small(), nodes=(*small().nodes, ("const", number))))
