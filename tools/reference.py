"""Writes docs/reference.md from signature.py, the one truth about each quantity.

python tools/reference.py            write
python tools/reference.py --check    exit status 1 if the file is out of date
"""

from __future__ import annotations

import sys
from pathlib import Path

from condyle.functions import FUNCTIONS
from condyle.specification import F_EXT, Function, Port

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference.md"
HEAD = """# Reference

Written by `tools/reference.py` from `src/condyle/signature.py`. Every array has any leading batch dimensions before the
shape given here. All functions but `mass_matrix` and `mass_matrix_inverse` also take `f_ext`.
"""


def page() -> str:
    """The whole file."""
    return "\n".join([HEAD, *map(section, FUNCTIONS.values()), external()])


def section(function: Function) -> str:
    """One function: its equation and its quantities."""
    calling = ", ".join(port.name for port in function.inputs)
    rows = [row(port, "in") for port in function.inputs] + [row(port, "out") for port in function.outputs]
    head = f"## {function.name}: `{function.method}({calling})`\n\n{function.equation}\n"
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


def row(port: Port, way: str) -> str:
    unit = port.unit.replace("|", "or")
    return f"| {port.name} | {way} | ({', '.join(port.dims)}) | {unit} | {port.frame} | {port.doc} |"


def main() -> int:
    if "--check" in sys.argv[1:]:
        return int(not PAGE.exists() or PAGE.read_text() != page())
    PAGE.write_text(page())
    return 0


if __name__ == "__main__":
    sys.exit(main())
