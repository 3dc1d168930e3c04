"""Schedules as a C project: NAME.h, NAME.c, CMakeLists.txt, a self-checking test with times, README, names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from condyle.backends.c.export import cmake_file, table_cell, write_compare
from condyle.backends.c.rolled import write_numbers
from condyle.backends.c.schedule import Written, arguments_of, head_of, schedules_in_c
from condyle.backends.c.source import fact_symbols, real_of
from condyle.backends.c.target import TARGET
from condyle.backends.common.exported_files import write_owned
from condyle.backends.common.facts import IN_C, Facts, bits_of, checked_name, in_ascii
from condyle.backends.common.readme import Coordinates, birth, library_of, order
from condyle.ir.schedule import Schedule
from condyle.ir.sweep import Code
from condyle.text import Emitter

Reals = NDArray[np.floating[Any]]


class Meaning(NamedTuple):
    """What an array of a schedule is: its shape in C, its unit, and a line on it."""

    shape: tuple[int, ...]
    unit: str
    text: str


class Example(NamedTuple):
    """Inputs and the answers to them, by name, for the exported test. tolerance: relative to an answer's largest
    entry."""

    inputs: Mapping[str, Reals]
    outputs: Mapping[str, Reals]
    tolerance: float = 1e-6


class Entry(NamedTuple):
    """A schedule as a function NAME_x of C, x the schedule's name. text: what it computes. meanings: of its inputs and
    outputs, by the names of their slabs."""

    schedule: Schedule
    text: str
    meanings: Mapping[str, Meaning]
    example: Example | None = None


def export_schedules_c(
    entries: Sequence[Entry],
    kernels: Mapping[str, Code],
    facts: Facts,
    out: Path,
    robot: Mapping[str, object],
    joints: Sequence[Coordinates],
    dtype: str = "float64",
) -> list[Path]:
    """Writes NAME.h, NAME.c, CMakeLists.txt, test.c, README.md, robot.json and the manifest; gives the paths.

    kernels: {name in calls: code}. robot, joints: as in `export_c`. Only files that an export wrote are replaced.
    Raises UnsupportedError for names that C does not allow, and for a number type.
    """
    bits, name = bits_of(dtype), facts.name
    for entry in entries:
        checked_name(entry.schedule.name, IN_C)
        for slab, meaning in entry.meanings.items():
            shape = entry.schedule.slab(slab)
            assert math.prod(meaning.shape) == shape.rows * shape.size, f"{slab}: {meaning.shape} of {shape}"
    written = schedules_in_c([entry.schedule for entry in entries], kernels, facts, bits)
    texts = {
        f"{name}.h": _header(entries, written, facts, bits),
        f"{name}.c": written.text,
        "test.c": _test(entries, facts, bits),
        "CMakeLists.txt": cmake_file(name, f"{name}.c"),
        "README.md": _readme(entries, written, facts, bits, joints),
        "robot.json": json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n",
    }
    return write_owned(out, texts)


class Row(NamedTuple):
    """An argument: "in" or "out", its name in C, its slab."""

    way: str
    name: str
    slab: str
    meaning: Meaning


def _rows(entry: Entry) -> list[Row]:
    inputs, outputs = arguments_of(entry.schedule)
    return [
        Row(way, name, slab, entry.meanings[slab])
        for way, names, slabs in (("in", inputs, entry.schedule.inputs), ("out", outputs, entry.schedule.outputs))
        for name, slab in zip(names, slabs, strict=True)
    ]


def _plain(text: str) -> str:
    """Text that ends no comment."""
    return in_ascii(text).replace("*/", "* /").replace("\n", " ")


def _header(entries: Sequence[Entry], written: Written, facts: Facts, bits: int) -> str:
    e, guard = Emitter(), f"CONDYLE_{facts.name.upper()}_H"
    e(f"/* robot {facts.fingerprint or '-'}, nq = {facts.nq}, nv = {facts.nv}, float{bits}")
    e(f" * Condyle {facts.version or '-'}, ABI {TARGET.abi}", " *")
    e(" * Functions of one problem. They allocate nothing and keep nothing between calls, so several threads may call")
    e(" * them at once, each with a workspace of its own: NAME_FN_work_bytes bytes at any address. */")
    e(f"#ifndef {guard}", f"#define {guard}", "#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    e(*(f"extern const {head};" for head, _ in fact_symbols(facts)))
    for entry in entries:
        name = f"{facts.name}_{entry.schedule.name}"
        e("", f"/* {entry.schedule.name}: {_plain(entry.text)}")
        for way, argument, _, meaning in _rows(entry):
            shape = "".join(f"[{n}]" for n in meaning.shape)
            e(f" * {way:3} {argument}{shape}  {_plain(meaning.text)} [{_plain(meaning.unit)}]")
        e(" */", f"enum {{ {name}_work_bytes = {written.work[entry.schedule.name]} }};")
        e(head_of(entry.schedule, facts.name, bits) + ";")
    e("", "#ifdef __cplusplus", "}", "#endif", "#endif")
    return e.text()


def _test(entries: Sequence[Entry], facts: Facts, bits: int) -> str:
    e, real = Emitter(), real_of(bits)
    tried = [(entry, entry.example) for entry in entries if entry.example is not None]
    e("/* Calls every function with known answers; exit status 0 if all agree. ./check COUNT prints times of so many")
    e(" * calls too. */")
    e(f'#include "{facts.name}.h"', "#include <math.h>", "#include <stddef.h>", "#include <stdio.h>")
    e("#include <stdlib.h>", "#include <time.h>", "")
    if tried:
        write_compare(e, real)
    for entry, example in tried:
        _write_case(e, entry, example, facts, bits)
    with e.block("int main(int count, char **words)\n{"):
        e("const long times = count > 1 ? atol(words[1]) : 0;", "int bad = 0;", "(void)times;")
        e(*(f"bad |= Test_{entry.schedule.name}(times);" for entry, _ in tried), "return bad;")
    return e.text()


def _write_case(e: Emitter, entry: Entry, example: Example, facts: Facts, bits: int) -> None:
    name, real, rows = entry.schedule.name, real_of(bits), _rows(entry)
    symbol = f"{facts.name}_{name}"
    for k, row in enumerate(rows):
        known = example.inputs if row.way == "in" else example.outputs
        write_numbers(e, f"{name}_{k}", [float(x) for x in np.ravel(known[row.slab])], bits, real)
        if row.way == "out":
            e(f"static {real} {name}_got_{k}[{max(1, math.prod(row.meaning.shape))}];")
    e(f"static unsigned char {name}_work[{symbol}_work_bytes];", "")
    arguments = [f"{name}_{k}" if row.way == "in" else f"{name}_got_{k}" for k, row in enumerate(rows)]
    with e.block(f"static int Test_{name}(long times)\n{{"):
        call = f"{symbol}({', '.join([*arguments, f'{name}_work'])});"
        e("const clock_t start = clock();", "int bad = 0;", "long k;")
        with e.block("for (k = 0; k < times; k++) {"):
            e(call)
        with e.block("if (times > 0) {"):
            e("const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;")
            e(f'printf("{name}  %.2f us a call\\n", 1e6 * seconds / (double)times);')
        e(call)
        for k, row in enumerate(rows):
            if row.way == "out":
                what = f'"{name} {row.name}", {name}_got_{k}, {name}_{k}, {math.prod(row.meaning.shape)}'
                e(f"bad |= wrong({what}, {example.tolerance!r});")
        e("return bad;")
    e("")


def _readme(entries: Sequence[Entry], written: Written, facts: Facts, bits: int, joints: Sequence[Coordinates]) -> str:
    name, real = facts.name, real_of(bits)
    functions = "\n".join(_section(entry, written, facts, bits) for entry in entries)
    return f"""\
# {name}: a job of one robot in C

{len(entries)} functions, every number a `{real}`, nq = {facts.nq}, nv = {facts.nv}.
{birth(facts)}

| file | what it is |
|---|---|
| `{name}.h` | the header, for C and C++: above each function what it computes, and its arguments |
| `{name}.c` | the functions: C99 that needs only the C library and `libm` |
| `test.c` | calls every function with known answers; with a number of calls it prints times too |
| `CMakeLists.txt` | the library `{library_of(name)}`, the test, and the package `{name}` |
| `robot.json` | names of joints, bodies and frames, in their order |
| `condyle-export.json` | the files of this export; a later export replaces only these |

Build and test with CMake, or with one compiler call. The exit status of the test is 0 if all results are right:

```sh
cmake -S . -B build && cmake --build build && ctest --test-dir build
cc -O2 -march=native -ffp-contract=fast -fno-math-errno *.c -lm -o check && ./check 100
```

`-DCONDYLE_NATIVE=OFF` builds for other machines of the same architecture.

## Functions

A call computes one problem. Arrays are contiguous, the last index first. Functions allocate no memory, have no state
between calls, and may be called from several threads at once, each with a workspace of its own: `NAME_FN_work_bytes`
bytes at any address. What is in it before a call does not matter. Arrays of one call must not overlap.

{functions}
## Order of joints

{order(joints)}

A free joint has x y z qx qy qz qw in q, and in v the linear, then the angular velocity, in the body's own axes. A
spherical joint has qx qy qz qw in q, and in v the angular velocity in the body's own axes.
"""


def _section(entry: Entry, written: Written, facts: Facts, bits: int) -> str:
    name = f"{facts.name}_{entry.schedule.name}"
    rows = [
        f"| `{row.name}` | {row.way} | {' x '.join(map(str, row.meaning.shape)) or '1'} | "
        f"{table_cell(row.meaning.unit)} | {table_cell(row.meaning.text)} |"
        for row in _rows(entry)
    ]
    head = ["```c", head_of(entry.schedule, facts.name, bits) + ";", "```", ""]
    table = ["| argument | | shape | unit | meaning |", "|---|---|---|---|---|", *rows, ""]
    size = f"{table_cell(entry.text)} Workspace: {written.work[entry.schedule.name]} bytes."
    return "\n".join([f"### {name}", "", size, "", *head, *table])
