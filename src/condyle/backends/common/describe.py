"""The comment above an exported function, and the names of its arguments."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from condyle.backends.common.facts import Facts
from condyle.ir.count import work
from condyle.ir.program import Array, Program
from condyle.ir.repeated import Repeated
from condyle.ir.segments import Segmented
from condyle.ir.sweep import Code
from condyle.operations import ARITY
from condyle.specification import Port

_ARGUMENT = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")
_TAKEN = """
auto break case char const continue default do double else enum extern float for goto if inline int long register
restrict return short signed sizeof static struct switch typedef union unsigned void volatile while n work in out
in_stride out_stride k w rows real LANES raw status T class delete namespace new operator template this typename warp
in_step out_step steps every
"""


def header(program: Code | Repeated, facts: Facts, numbers: str, abi: int) -> list[str]:
    """The comment at the top: equation, robot, arguments with shapes and units, number of operations."""
    function = facts.functions.get(program.name)
    lines = [f"/* {program.name}: " + ("a function" if function is None else in_ascii(function.equation))]
    lines.append(f" * robot {facts.fingerprint or '-'}, nq = {facts.nq}, nv = {facts.nv}, {numbers}")
    lines.append(f" * Condyle {facts.version or '-'}, ABI {abi}")
    each = "a step of a state" if isinstance(program, Repeated) else "a state"
    lines.append(f" * operations {each}: {_operations(body_of(program))}")
    for way, name, shape, port in described(program, facts):
        meaning = "" if port is None else in_ascii(f"  {port.doc} [{port.unit}]")
        meaning = meaning if shape[:1] == ("n",) else f"{meaning}  one for all states"
        lines.append(f" * {way:3} {name}{''.join(f'[{n}]' for n in shape)}{meaning}")
    return [*lines, " */"]


def in_ascii(text: str) -> str:
    """A specification's text in ASCII, which every compiler accepts."""
    return text.translate({ord("⊕"): "(+)", ord("⊖"): "(-)"}).encode("ascii", "replace").decode("ascii")


def body_of(program: Code | Repeated) -> Code:
    """The code that is repeated, or the code itself."""
    return program.body if isinstance(program, Repeated) else program


def described(program: Code | Repeated, facts: Facts) -> list[tuple[str, str, tuple[int | str, ...], Port | None]]:
    """For each argument "in" or "out", its name in C, its shape, and its port.

    The shape begins with "n" if each state has a row, then has "steps" or "rows" if each step of a rollout has one.
    """
    function, body = facts.functions.get(program.name), body_of(program)
    held = held_of(body)
    docs: dict[str, Port] = {}
    if function is not None:
        docs = {port.name: port for port in (*function.inputs, *function.named_outputs)}
    loop = program.loop if isinstance(program, Repeated) else None
    times = {
        "in": [("steps",) if loop is not None and loop.takes[k].every else () for k in range(len(body.inputs))],
        "out": [("rows",) if loop is not None and not loop.gives[k].summed else () for k in range(len(body.arrays))],
    }
    return [
        (
            way,
            name,
            (*(() if way == "in" and array.name in held else ("n",)), *time, *array.shape),
            docs.get(array.name),
        )
        for way, arrays in (("in", body.inputs), ("out", body.arrays))
        for name, array, time in zip(argument_names(arrays, way), arrays, times[way], strict=True)
    ]


def held_of(program: Code) -> frozenset[str]:
    """The inputs that are one row for all states where arrays are contiguous."""
    return program.held if isinstance(program, Segmented) else frozenset()


def _operations(program: Code) -> str:
    if isinstance(program, Segmented):
        return f"{work(program)}, products of matrices in loops"
    if not isinstance(program, Program):
        return f"{work(program)}, in loops over {len(program.joints)} joints"
    counts = Counter(node[0] for node in program.nodes if node[0] in ARITY)
    return ", ".join(f"{n} {op}" for op, n in sorted(counts.items())) or "none"


def argument_names(arrays: Sequence[Array], way: str) -> list[str]:
    """Array names as C identifiers; a name that cannot be one is replaced by its direction and number."""
    plain = [array.name for array in arrays]
    return [
        name
        if _ARGUMENT.fullmatch(name) and len(name) < 32 and name not in _TAKEN.split() and plain.count(name) == 1
        else f"{way}{k}"
        for k, name in enumerate(plain)
    ]
