"""An embedded project on a bare machine under an emulator, and on this one: the bits of its answers."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

import condyle
from condyle.backends.c.part_report import PARTS, Part, compile_for, emulation, link
from tests.programs import call, needs

needs_parts = needs(
    *sorted({f"{part.tools}gcc" for part in PARTS.values()} | {part.emulator.split()[0] for part in PARTS.values()})
)

PRINT = """
#include <stdint.h>
#ifdef CONDYLE_BARE
void condyle_print(const char *text);
#else
#include <stdio.h>
static void condyle_print(const char *text) { fputs(text, stdout); }
#endif

static void put(REAL x)
{
    union { REAL x; uintBITS_t word; } bits;
    char text[BITS / 4 + 2];
    int k;
    bits.x = x;
    for (k = 0; k < BITS / 4; k++) {
        text[k] = "0123456789abcdef"[bits.word >> (BITS - 4 - 4 * k) & 15];
    }
    text[BITS / 4] = '\\n';
    text[BITS / 4 + 1] = 0;
    condyle_print(text);
}

int show(void);
#ifndef CONDYLE_BARE
int main(void) { return show(); }
#endif
"""


def shown(name: str, calls: Sequence[tuple[str, Sequence[Any], Sequence[int]]], dtype: str) -> str:
    """A program that prints the answers of calls: function, inputs, sizes of outputs."""
    bits = 64 if dtype == "float64" else 32
    real = "double" if bits == 64 else "float"
    text = [
        f'#include "{name}.h"',
        PRINT.replace("REAL", real).replace("BITS", str(bits)),
        "int show(void)\n{",
        "int k;",
    ]
    for function, inputs, outputs in calls:
        text.append("{")
        for k, x in enumerate(inputs):
            text.append(f"static const {real} x{k}[] = {{{', '.join(map(literal, np.ravel(x).astype(dtype)))}}};")
        text += [f"static {real} y{k}[{size}];" for k, size in enumerate(outputs)]
        passed = [f"x{k}" for k in range(len(inputs))] + [f"y{k}" for k in range(len(outputs))]
        text.append(f"{name}_{function}({', '.join(passed)});")
        text += [f"for (k = 0; k < {size}; k++) {{ put(y{k}[k]); }}" for k, size in enumerate(outputs)]
        text.append("}")
    return "\n".join([*text, "return 0;\n}\n"])


def literal(x: float) -> str:
    if np.isfinite(x):
        return float(x).hex()
    return "0.0f / 0.0f" if np.isnan(x) else "1.0f / 0.0f"


def answers(part: Part | None, project: Path, program: str, folder: Path, dtype: str, flags: Sequence[str]) -> Any:
    """What the program prints on the part, or on this machine, as numbers."""
    folder.mkdir()
    for file in [*project.glob("*.c"), *project.glob("*.h")]:
        (folder / file.name).write_text(file.read_text())
    (folder / "test.c").write_text(program)
    sources = sorted(path.name for path in folder.glob("*.c"))
    if part is None:
        call(["cc", "-std=c99", "-O2", *flags, *sources, "-o", "program"], folder)
        text = call(["./program"], folder)
    else:
        compile_for(part, folder, sources, ["-DCONDYLE_BARE", *flags])
        command = emulation(part, link(part, folder, "show"))
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, (part.name, done.returncode, done.stderr)
        text = done.stdout + done.stderr  # there some versions print, and say what they think of the machine
    digits = 16 if dtype == "float64" else 8
    found = [int(line, 16) for line in text.splitlines() if re.fullmatch(f"[0-9a-f]{{{digits}}}", line)]
    words = np.array(found, f"uint{4 * digits}")
    return words.view(dtype)


def export(robot: condyle.Robot, out: Path, dtype: str, functions: Sequence[str]) -> None:
    condyle.export(robot, "c", out, functions=functions, dtype=dtype, embedded=True)
