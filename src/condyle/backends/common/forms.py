"""The operations in C and C++, one row for each, and C functions for operations that are expanded."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from condyle.errors import UnsupportedError
from condyle.ir.program import Array, Output, Program, constant_of, operands
from condyle.operations import AMOUNTS, ARITY, LEAVES, Node
from condyle.passes.elementary.expand import ELEMENTARY, expand
from condyle.text import Emitter

ARITHMETIC = {
    "neg": "-{0}",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "div": "{0} / {1}",
    "fma": "{0} * {1} + {2}",
    "fms": "{0} * {1} - {2}",
    "fnma": "{2} - {0} * {1}",
    "fnms": "-({0} * {1}) - {2}",
}
"""What C's operators do."""

FORMS = {
    **ARITHMETIC,
    "rcp": "{unit} / {0}",
    "sqrt": "{sqrt}({0})",
    "abs": "{prefix}abs({0})",
    "min": "{prefix}min({0}, {1})",
    "max": "{prefix}max({0}, {1})",
    "floor": "{prefix}floor({0})",
    "rint": "{prefix}rint({0})",
    "select": "{prefix}select({0}, {1}, {2})",
    "and": "{prefix}and({0}, {1})",
    "or": "{prefix}or({0}, {1})",
    "xor": "{prefix}xor({0}, {1})",
    "shl": "{prefix}shl({0})",
    "shr": "{prefix}shr({0})",
    "iadd": "{prefix}iadd({0}, {1})",
    **{f"rotl{amount}": f"{{prefix}}rotl({{0}}, {amount})" for amount in AMOUNTS},
    **{op: f"{{prefix}}{op}({', '.join(f'{{{k}}}' for k in range(ARITY[op]))})" for op in ELEMENTARY},
}
"""`prefix` is that of our own functions, which a support file or `write_functions` defines."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """unit: the number 1. sqrt: name of the square root. prefix: see FORMS. vector: a vector with one number in all
    lanes."""

    unit: str
    sqrt: str
    prefix: str
    vector: str = "{0}"

    def spell(self, op: str, texts: Sequence[str], constants: Collection[int] = ()) -> str:
        """The operation on operands as text; `constants`: which of them are numbers, not vectors."""
        if FORMS[op].startswith("{prefix}") or len(constants) == len(texts):  # two numbers make a number, not a vector
            texts = [self.vector.format(text) if k in constants else text for k, text in enumerate(texts)]
        return FORMS[op].format(*texts, unit=self.unit, sqrt=self.sqrt, prefix=self.prefix)


def beyond(ops: Collection[str]) -> bool:
    """Whether any of these operations uses our own functions."""
    return any(FORMS.get(op, "").startswith("{prefix}") for op in ops)


def write_functions(
    e: Emitter, ops: Collection[str], bits: int, head: str, dialect: Dialect, literal: Callable[[float], str]
) -> None:
    """Writes a function for each of these operations that is expanded into others. head: the text before its name."""
    number = head.split()[-1]
    for op in ELEMENTARY:
        if op in ops:
            program = expand(alone(op), bits)
            arguments = ", ".join(f"{number} t{k}" for k in range(ARITY[op]))
            with e.block(f"{head} {dialect.prefix}{op}({arguments})\n{{"):
                for k, node in enumerate(program.nodes):
                    if node[0] not in LEAVES:
                        e(f"const {number} t{k} = {_statement(program, k, dialect, literal)};")
                e(f"return t{program.outputs[0].node};")
            e("")


def _statement(program: Program, k: int, dialect: Dialect, literal: Callable[[float], str]) -> str:
    nodes, used = program.nodes, operands(program.nodes[k])
    constants = [i for i, a in enumerate(used) if nodes[a][0] == "const"]
    texts = [literal(constant_of(nodes[a])) if nodes[a][0] == "const" else f"t{a}" for a in used]
    return dialect.spell(nodes[k][0], texts, constants)


def alone(op: str) -> Program:
    """A Program of one operation on its inputs."""
    inputs = tuple(Array(f"x{k}", (1,)) for k in range(ARITY[op]))
    nodes: tuple[Node, ...] = (*(("input", k, 0) for k in range(ARITY[op])), (op, *range(ARITY[op])))
    return Program("one", inputs, (Array("y", (1,)),), nodes, (Output(0, 0, ARITY[op]),))


# Numbers as constants of C.


def literal(value: float, bits: int) -> str:
    """A number as a hexadecimal C constant; raises UnsupportedError where it is not finite in this precision."""
    if bits == 32:
        with np.errstate(over="ignore"):
            value = float(np.float32(value))
    if not math.isfinite(value):
        raise UnsupportedError(f"the constant {value} cannot stand in generated code")
    return value.hex() + ("f" if bits == 32 else "")


# The error for operations that a target does not have.


EVERYTHING = ("numpy", "cpu", "c", "cuda")
"""Targets that have every operation of the table."""


def lacks(program: Program, has: Collection[str]) -> list[str]:
    """Operations of the Program that a target does not have."""
    return sorted({node[0] for node in program.nodes} - LEAVES - set(has))


def refused(target: str, lacking: Iterable[str], has: Iterable[str]) -> UnsupportedError:
    """The error for operations that a target lacks."""
    return UnsupportedError(
        f"{target} has no operation {', '.join(map(repr, lacking))}; it has {', '.join(sorted(has))}; "
        f"targets {', '.join(EVERYTHING)} have every one"
    )
