"""Numbers of 64 bits in constant memory, from where arithmetic reads them directly.

As literals they take two instructions each, and uniform registers, which the assembler spills.
"""

from __future__ import annotations

import re

MOST = 8_000
"""Numbers in constant memory, which has 64 KB."""

LITERAL = re.compile(r"0d[0-9A-F]{8}(?!0{8})[0-9A-F]{8}")
"""Those that do not fit into an instruction: their lower half is not zero."""


def in_memory(text: str) -> str:
    """A module with one kernel, with its literals of 64 bits in constant memory."""
    head, body = text.split("\n{\n")
    offsets: dict[str, int] = {}
    lines: list[str] = []
    loads = 0
    for line in body.splitlines():
        for number in dict.fromkeys(LITERAL.findall(line)):
            if len(offsets) < MOST or number in offsets:
                offset = offsets.setdefault(number, 8 * len(offsets))
                lines.append(f"    ld.const.f64 %number{loads}, [numbers+{offset}];")
                line = line.replace(number, f"%number{loads}")
                loads += 1
        lines.append(line)
    if not offsets:
        return text
    table = ", ".join(number.replace("0d", "0x") for number in offsets)
    start = head.index(".visible .entry")
    head = f"{head[:start]}.const .align 8 .b64 numbers[{len(offsets)}] = {{{table}}};\n\n{head[start:]}"
    return "\n".join([head, "{", f"    .reg .f64 %number<{loads}>;", *lines, ""])
