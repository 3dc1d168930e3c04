"""Operations of a Program as scalar C."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from condyle.backends.casadi.external import Part
from condyle.backends.common.forms import ARITHMETIC
from condyle.backends.common.literals import literal
from condyle.errors import UnsupportedError
from condyle.ir.program import constant_of, input_of, operands
from condyle.operations import OPERATIONS
from condyle.text import Emitter

FORMS = {
    **ARITHMETIC,
    "rcp": "1.0 / {0}",
    "min": "cd_min({0}, {1})",
    "max": "cd_max({0}, {1})",
    "select": "({0} >= 0 ? {1} : {2})",
    **{op: f"{row.c}({', '.join(f'{{{k}}}' for k in range(row.arity))})" for op, row in OPERATIONS.items() if row.c},
}
"""Operations on doubles in C."""


def value(part: Part, index: int) -> str:
    """A constant or an entry of an argument."""
    node = part.program.nodes[index]
    if node[0] == "const":
        return literal(constant_of(node), 64)
    place = part.reads.get(input_of(node))
    return "0" if place is None else f"a[{place[0]}][{place[1]}]"


def write_nodes(e: Emitter, part: Part, order: Iterable[int], slots: Mapping[int, int]) -> None:
    """Writes nodes in order, each as a variable t. slots: index in w of those that other functions compute."""
    nodes, named = part.program.nodes, set[int]()

    def bring(index: int) -> None:
        if index not in named:
            named.add(index)
            said = value(part, index) if nodes[index][0] in ("const", "input") else f"w[{slots[index]}]"
            e(f"const casadi_real t{index} = {said};")

    for index in order:
        node = nodes[index]
        if node[0] in ("const", "input"):
            bring(index)
            continue
        if node[0] not in FORMS:
            raise UnsupportedError(f"target 'casadi': the operation {node[0]!r} has no word in C")
        for used in operands(node):
            bring(used)
        named.add(index)
        e(f"const casadi_real t{index} = {FORMS[node[0]].format(*(f't{i}' for i in operands(node)))};")
