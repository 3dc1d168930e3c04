"""Writes docs/reference/functions.md and src/condyle/calls/methods.pyi from the functions, and the table of
rooms in src/condyle/README.md from the docstrings of the folders.

python tools/reference.py            write
python tools/reference.py --check    exit status 1 if a file is out of date
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Sequence
from pathlib import Path

from condyle.calls.methods import result_of
from condyle.derivatives import DERIVATIVE_KINDS, derivative
from condyle.fpga.functions import tasks
from condyle.functions import FUNCTIONS, function_of
from condyle.specification import F_EXT, Function, Port

ROOT = Path(__file__).resolve().parent.parent
PAGE, STUB = ROOT / "docs" / "reference" / "functions.md", ROOT / "src" / "condyle" / "calls" / "methods.pyi"
ROOMS, BEGIN, END = ROOT / "src" / "condyle" / "README.md", "<!-- rooms -->", "<!-- end of rooms -->"
FILES, END_OF_FILES = "<!-- files -->", "<!-- end of files -->"
HEAD = """# Reference

For those who look up a function: short name, method of `Dynamics`, equation, inputs and outputs. Written by
`tools/reference.py` from `src/condyle/functions/`.

* **Shapes** are those of one state. Any batch dimensions can stand before them; they broadcast.
* **Frames.** joint: joint coordinates. body: the link frame of each body. world: world axes. reference: the
  `reference_frame` of `compile`. contact: the axes of the contact.
* **Sizes.** nq, nv: of q and v. n_bodies: moving bodies. n_frames: frames of `compile(frames=)`. n_contacts: contacts.
  n_rows: entries that the contacts hold. n_regressor: words of `compile(regressor=)`.
* A function that takes external forces has the argument [`f_ext`](#f_ext).
"""
DERIVATIVES = """## Derivatives

Derivatives of each function, such as `dyn.vjp("fd")`, see [derivatives](../how-to/derivatives.md). A cell says what the
derivative takes after the inputs of the function → what it returns. `f_ext=` is one more input.
"""
FIXED_POINT = """## Fixed point

Methods of `condyle.fixed_point(robot, word, box)`, see [FPGA accelerators](../how-to/fpga.md#the-integers-in-python).
Each returns (value, flag). They are {}, as in `Dynamics`, and
"""
STUB_HEAD = '''"""Written by `tools/reference.py`: what type checkers know of the methods of `Dynamics`."""

from collections.abc import Callable, Sequence
from inspect import Signature
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from condyle.runtime.packed import Packed
from condyle.specification import Function

Array = NDArray[np.floating]
Out = Array | Packed | Sequence[Array] | Sequence[Packed] | None

def result_type(method: str, parts: tuple[str, ...]) -> type[tuple[object, ...]]: ...
def answer_names(function: Function) -> tuple[str, ...]: ...
def result_of(function: Function) -> type[tuple[object, ...]] | None: ...
def as_result(function: Function, answers: Sequence[object]) -> object: ...
def method_of(function: Function) -> Callable[..., object]: ...
def document_of(function: Function, answers: Sequence[str] = ()) -> str: ...
def signature_of(function: Function) -> Signature: ...
'''


def page() -> str:
    """The whole file."""
    return "\n".join([HEAD, *map(section, FUNCTIONS.values()), external(), derivatives(), fixed_point()])


def section(function: Function) -> str:
    """One function: its equation and its quantities."""
    calling = ", ".join(port.name for port in function.inputs)
    rows = [row(port, "in") for port in function.inputs] + [row(port, "out") for port in function.outputs]
    rows += [row(port, f"out, with {name}") for name, port in function.outputs_with.items()]
    extra = "\n\nTakes `f_ext`." if function.takes_f_ext else ""
    source = f"\n\nSource: {function.source}." if function.source else ""
    head = f"## {function.name}: `{function.method}({calling})`\n\n{function.equation}{extra}{source}\n"
    return "\n".join([head, "| name | | shape | unit | frame | meaning |", "|---|---|---|---|---|---|", *rows, ""])


def external() -> str:
    return "\n".join(
        [
            "## f_ext",
            "",
            "| name | | shape | unit | frame | meaning |",
            "|---|---|---|---|---|---|",
            row(F_EXT, "in"),
            "",
        ]
    )


def derivatives() -> str:
    """What the derivatives of every function take and answer."""
    rows = [f"| {name} | {' | '.join(derived(kind, name) for kind in DERIVATIVE_KINDS)} |" for name in FUNCTIONS]
    heads = " | ".join(f"`{kind}`" for kind in DERIVATIVE_KINDS)
    return "\n".join([DERIVATIVES, f"| function | {heads} |", "|---|---|---|---|---|", *rows, ""])


def fixed_point() -> str:
    """The methods of `FixedPoint` beside those of `Dynamics`."""
    own = [task.function for name, task in tasks().items() if name not in FUNCTIONS]
    rows = [f"| `{f.name}({', '.join(port.name for port in f.inputs)})` | {f.equation} | {answers(f)} |" for f in own]
    shared = ", ".join(f"`{task.function.method}`" for name, task in tasks().items() if name in FUNCTIONS)
    return "\n".join([FIXED_POINT.format(shared), "| method | equation | value |", "|---|---|---|", *rows, ""])


def answers(function: Function) -> str:
    return ", ".join(f"{port.name} ({', '.join(port.dims)})" for port in function.outputs)


def derived(kind: str, name: str) -> str:
    """What it takes behind the function's inputs, and its answers, as `Dynamics` names them."""
    base = FUNCTIONS[name]
    function = derivative(kind, base)
    more = [port.name for port in function.inputs[len(base.inputs) :]]
    answers = [port.name for port in (base.inputs if kind == "vjp" else function.outputs)]
    return f"{', '.join(more)} → {', '.join(answers)}" if more else ", ".join(answers)


def stub() -> str:
    """The whole file for type checkers."""
    pushed = (function.taking(F_EXT) for function in FUNCTIONS.values() if F_EXT.name in function.outputs_with)
    answering = (*FUNCTIONS.values(), *pushed, function_of("rollout_1_by_tau_of_step"))
    made = [result for function in answering if (result := _result(function))]
    methods = ["\nclass Methods:", *(_method(function) for function in FUNCTIONS.values())]
    return STUB_HEAD + "\n".join([*made, *methods]) + "\n"


def _result(function: Function) -> str:
    result = result_of(function)
    if result is None:
        return ""
    return "\n".join(
        [f"\nclass {result.__name__}(NamedTuple):", *(f"    {port.name}: Array" for port in function.outputs)]
    )


def _method(function: Function) -> str:
    """Two signatures where external forces add answers."""
    if F_EXT.name not in function.outputs_with:
        return _signature(function, ["f_ext: ArrayLike | None = None"] if function.takes_f_ext else [], function)
    both = [([], function), (["f_ext: ArrayLike"], function.taking(F_EXT))]
    return "\n".join(f"    @overload\n{_signature(function, forces, answering)}" for forces, answering in both)


def _signature(function: Function, forces: list[str], answering: Function) -> str:
    result = result_of(answering)
    taken = [f"{port.name}: ArrayLike" for port in function.inputs]
    given = ", ".join(["self", *taken, *forces, "out: Out = None"])
    return f"    def {function.method}({given}) -> {'Array' if result is None else result.__name__}: ..."


def row(port: Port, way: str) -> str:
    unit = port.unit.replace("|", "or")
    return f"| {port.name} | {way} | ({', '.join(port.dims)}) | {unit} | {port.frame} | {port.doc} |"


def rooms() -> str:
    """The README of the package with today's table of rooms: modules at the top and folders."""
    top = ROOMS.parent
    return _between(ROOMS, BEGIN, table([*sorted(top.glob("*.py")), *sorted(top.glob("**/__init__.py"))], top), END)


def readme(path: Path) -> str:
    """The README of a folder with today's table of its files."""
    return _between(path, FILES, table(sorted(path.parent.rglob("*.py")), path.parent), END_OF_FILES)


def table(files: Sequence[Path], top: Path) -> str:
    """A row for each file and each folder below `top`: the first paragraph of its docstring."""
    rows = [f"| `{_place(path, top)}` | {_first(path)} |" for path in dict.fromkeys(files) if _place(path, top)]
    return "\n".join(["| place | what it is |", "|---|---|", *rows])


def _between(path: Path, begin: str, text: str, end: str) -> str:
    before, rest = path.read_text().split(begin)
    return f"{before}{begin}\n\n{text}\n\n{end}{rest.split(end)[1]}"


def _place(path: Path, top: Path) -> str:
    name = path.relative_to(top).as_posix()
    return name.removesuffix("__init__.py")


def _first(path: Path) -> str:
    """The first paragraph of a file's docstring, on one line."""
    paragraph = (ast.get_docstring(ast.parse(path.read_text())) or "").split("\n\n")[0]
    return " ".join(paragraph.split()).replace("|", "\\|")


def main() -> int:
    written = {path: readme(path) for path in (ROOT / "src").rglob("README.md") if path != ROOMS}
    written |= {PAGE: page(), STUB: stub(), ROOMS: rooms()}
    if "--check" in sys.argv[1:]:
        return int(any(not path.exists() or path.read_text() != text for path, text in written.items()))
    for path, text in written.items():
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
