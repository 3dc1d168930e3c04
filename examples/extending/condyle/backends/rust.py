"""A Program as a function in Rust."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.errors import UnsupportedError
from condyle.ir.program import Program, constant_of, input_of, operands
from condyle.operations import Node
from condyle.text import Emitter

FORMS = {
    "neg": "-{0}",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "rcp": "1.0 / {0}",
    "fma": "{0} * {1} + {2}",
    "fms": "{0} * {1} - {2}",
    "fnma": "{2} - {0} * {1}",
    "fnms": "-({0} * {1}) - {2}",
    "log": "{0}.ln()",
    "rint": "{0}.round_ties_even()",
    "atan2": "{0}.atan2({1})",
    "min": "if {0} < {1} || {0}.is_nan() {{ {0} }} else {{ {1} }}",
    "max": "if {0} > {1} || {0}.is_nan() {{ {0} }} else {{ {1} }}",
    "select": "if {0} >= 0.0 {{ {1} }} else {{ {2} }}",
    **{op: f"{{0}}.{op}()" for op in ("sqrt", "sin", "cos", "abs", "floor", "exp", "tanh")},
}
"""A row for each operation of `operations.py`, apart from those that only expansion makes."""


def write_function(e: Emitter, program: Program) -> None:
    """Writes it. Inputs are x0, x1, ... and outputs y0, y1, ..., each row major."""
    inputs = [f"x{k}: &[f64; {array.size}]" for k, array in enumerate(program.inputs)]
    outputs = [f"y{k}: &mut [f64; {array.size}]" for k, array in enumerate(program.arrays)]
    with e.block(f"pub fn {program.name}({', '.join(inputs + outputs)}) {{"):
        e(*(f"let t{k}: f64 = {_value(node)};" for k, node in enumerate(program.nodes)))
        e(*(f"*y{k} = [0.0; {array.size}];" for k, array in enumerate(program.arrays)))
        e(*(f"y{one.array}[{one.index}] = t{one.node};" for one in program.outputs))


def _value(node: Node) -> str:
    if node[0] == "const":
        return repr(float(constant_of(node)))
    if node[0] == "input":
        port, entry = input_of(node)
        return f"x{port}[{entry}]"
    if node[0] not in FORMS:
        raise UnsupportedError(f"target 'rust': the operation {node[0]!r} has no form in Rust")
    return FORMS[node[0]].format(*(f"t{k}" for k in operands(node)))


def numbers(values: Sequence[float]) -> str:
    """An array of Rust."""
    return f"[{', '.join(repr(float(value)) for value in values)}]"
