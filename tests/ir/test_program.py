"""Programs as data: the verifier, the text, the counts."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf

import pytest

from condyle import scalar
from condyle.errors import UnsupportedError
from condyle.ir.count import Counts, count, instructions
from condyle.ir.expr import Graph
from condyle.ir.program import Array, Note, Output, Program, operands, show, verify
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


LAST = 10
"""Number of nodes of `small`."""
EXTRA: dict[str, tuple[object, ...]] = {
    "unknown operation": ("pow", 0, 1),
    "wrong arity": ("add", 0),
    "one operand too many": ("neg", 0, 1),
    "uses itself": ("neg", LAST),
    "uses a later node": ("add", 0, LAST + 1),
    "uses a negative number": ("add", -1, 0),
    "an operand that is no number of a node": ("neg", 1.0),
    "constant is not a float": ("const", 1),
    "two constants": ("const", 1.0, 2.0),
    "input that is not there": ("input", 2, 0),
    "input with a negative number": ("input", -1, 0),
    "entry beyond an input": ("input", 0, 2),
    "negative entry of an input": ("input", 0, -1),
    "input without an entry": ("input", 0),
    "input with two entries": ("input", 0, 0, 0),
}
OUTPUTS = {
    "output node that is not there": Output(0, 0, LAST),
    "negative output node": Output(0, 0, -1),
    "output array that is not there": Output(2, 0, 0),
    "negative output array": Output(-1, 0, 0),
    "entry beyond an output": Output(0, 1, 0),
    "negative entry of an output": Output(1, -1, 0),
}


@pytest.mark.parametrize("fault", EXTRA)
def test_a_node_that_breaks_a_rule_is_named(fault: str) -> None:
    broken = replace(small(), nodes=(*small().nodes, EXTRA[fault]))
    with pytest.raises(AssertionError, match=re.escape(f"small: node {LAST} {EXTRA[fault]}")):
        verify(broken)


@pytest.mark.parametrize("fault", OUTPUTS)
def test_an_output_that_breaks_a_rule_is_named(fault: str) -> None:
    with pytest.raises(AssertionError, match=re.escape(f"small: {OUTPUTS[fault]}")):
        verify(replace(small(), outputs=(OUTPUTS[fault],)))


def test_an_entry_is_written_once() -> None:
    program = small()
    with pytest.raises(AssertionError, match="small: Output"):
        verify(replace(program, outputs=(*program.outputs, replace(program.outputs[0], node=0))))


def test_notes_are_one_for_each_node_or_none() -> None:
    program, notes = small(), tuple(Note(str(k)) for k in range(LAST))
    assert program.note(3) == Note("", inf, 0.0)
    assert verify(replace(program, notes=notes)).note(3) == Note("3", inf, 0.0)
    for wrong in (notes[:-1], (*notes, Note())):
        with pytest.raises(AssertionError, match=f"small: {len(wrong)} notes"):
            verify(replace(program, notes=wrong))


def test_a_scalar_has_one_entry() -> None:
    assert [Array("x", shape).size for shape in ((), (0,), (5,), (2, 3, 4))] == [1, 0, 5, 24]


def test_a_number_that_is_not_finite_is_the_users() -> None:
    for number in (float("inf"), float("nan")):
        with pytest.raises(UnsupportedError, match="divided by what is zero in every state"):
            verify(replace(small(), nodes=(*small().nodes, ("const", number))))
