"""Schedules as a C project: NAME.h, NAME.c, CMakeLists.txt, a self-checking test with times, README, names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

from condyle.backends.c.export import cmake_file, table_cell, write_compare
from condyle.backends.c.rolled import write_numbers
from condyle.backends.c.schedule import Entry, Example, schedules_in_c
from condyle.backends.c.source import fact_symbols, real_of, write_facts
from condyle.backends.c.target import TARGET
from condyle.backends.common.exported_files import write_owned
from condyle.backends.common.facts import IN_C, Facts, bits_of, checked_name, in_ascii
from condyle.backends.common.readme import Coordinates, birth, library_of, order
from condyle.ir.sweep import Code
from condyle.text import Emitter


def export_schedules_c(
    entries: Sequence[Entry],
    kernels: Mapping[str, Code],
    facts: Facts,
    out: Path,
    robot: Mapping[str, object],
    joints: Sequence[Coordinates],
    dtype: str = "float64",
    embedded: bool = False,
) -> list[Path]:
    """Writes NAME.h, NAME.c, CMakeLists.txt, test.c, README.md, robot.json and the manifest; gives the paths.

    kernels: {name in calls: code}. robot, joints: as in `export_c`. Only files that an export wrote are replaced.
    Raises UnsupportedError for names that C does not allow, for a number type, and for numbers that are not finite.
    """
    bits, name, e = bits_of(dtype), facts.name, Emitter()
    for entry in entries:
        checked_name(entry.schedule.name, IN_C)
        for *_, slab in entry.arguments:
            array, shape = entry.schedule.slab(slab), entry.meanings[slab].shape
            assert math.prod(shape) == array.rows * array.size, f"{slab}: {shape}"
    work = schedules_in_c(e, entries, kernels, facts, bits, embedded)
    if not embedded:
        write_facts(e, facts)
    texts = {
        f"{name}.h": _header(entries, work, facts, bits),
        f"{name}.c": e.text(),
        "test.c": _test(entries, facts, bits),
        "CMakeLists.txt": cmake_file(name, f"{name}.c"),
        "README.md": _readme(entries, work, facts, bits, joints),
        "robot.json": json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n",
    }
    return write_owned(out, texts)


def _head(entry: Entry, facts: Facts, bits: int) -> str:
    return entry.head(facts.name, bits, [name for _, name, _ in entry.arguments]) + ";"


def _plain(text: str) -> str:
    """Text that ends no comment."""
    return in_ascii(" ".join(text.split())).replace("*/", "* /")


def _header(entries: Sequence[Entry], work: Mapping[str, int], facts: Facts, bits: int) -> str:
    e, guard = Emitter(), f"CONDYLE_{facts.name.upper()}_H"
    e(f"/* robot {facts.fingerprint or '-'}, nq = {facts.nq}, nv = {facts.nv}, float{bits}")
    e(f" * Condyle {facts.version or '-'}, ABI {TARGET.abi}", " *")
    e(" * A call is one problem. It allocates nothing, and nothing is kept between calls: several threads may call at")
    e(" * once, each with a workspace of its own, NAME_FN_work_bytes bytes at any address. Arrays of a call must not")
    e(" * overlap. */")
    e(f"#ifndef {guard}", f"#define {guard}", "#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    e(*(f"extern const {head};" for head, _ in fact_symbols(facts)))
    for entry in entries:
        e("", *wrap(f"/* {entry.schedule.name}: {_plain(entry.text)}", 116, subsequent_indent=" * "))
        for way, argument, slab in entry.arguments:
            meaning = entry.meanings[slab]
            shape = "".join(f"[{n}]" for n in meaning.shape)
            e(f" * {way:3} {argument}{shape}  {_plain(meaning.text)} [{_plain(meaning.unit)}]")
        size = f"{facts.name}_{entry.schedule.name}_work_bytes = {work[entry.schedule.name]}"
        e(" */", f"enum {{ {size} }};", _head(entry, facts, bits))
    e("", "#ifdef __cplusplus", "}", "#endif", "#endif")
    return e.text()


def _test(entries: Sequence[Entry], facts: Facts, bits: int) -> str:
    e, real = Emitter(), real_of(bits)
    tried = [(entry, entry.example) for entry in entries if entry.example is not None]
    e("/* Calls functions with known answers; exit status 0 if all agree. `check 1000` also prints times of calls. */")
    e(f'#include "{facts.name}.h"', *(f"#include <{x}.h>" for x in ("math", "stddef", "stdio", "stdlib", "time")), "")
    if tried:
        write_compare(e, real)
    for entry, example in tried:
        _write_case(e, entry, example, f"{facts.name}_{entry.schedule.name}", bits)
    with e.block("int main(int count, char **words)\n{"):
        e("const long times = count > 1 ? atol(words[1]) : 0;", "int bad = 0;", "(void)times;")
        e(*(f"bad |= Test_{entry.schedule.name}(times);" for entry, _ in tried), "return bad;")
    return e.text()


def _write_case(e: Emitter, entry: Entry, example: Example, symbol: str, bits: int) -> None:
    name, real, passed, checks = entry.schedule.name, real_of(bits), list[str](), list[str]()
    for k, (way, argument, slab) in enumerate(entry.arguments):
        known = np.ravel((example.inputs if way == "in" else example.outputs)[slab])
        write_numbers(e, f"{name}_{k}", [float(x) for x in known], bits, real)
        passed.append(f"{name}_{k}" if way == "in" else f"{name}_got_{k}")
        if way == "out":
            e(f"static {real} {name}_got_{k}[{max(1, known.size)}];")
            compared = f'"{name} {argument}", {name}_got_{k}, {name}_{k}, {known.size}, {example.tolerance!r}'
            checks.append(f"bad |= wrong({compared});")
    e(f"static unsigned char {name}_work[{symbol}_work_bytes];", "")
    with e.block(f"static int Test_{name}(long times)\n{{"):
        e("const clock_t start = clock();", "int bad = 0;", "long k;")
        with e.block("for (k = 0; k <= times; k++) {"):
            e(f"{symbol}({', '.join([*passed, f'{name}_work'])});")
        with e.block("if (times > 0) {"):
            e("const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;")
            e(f'printf("{name}  %.2f us a call\\n", 1e6 * seconds / (double)k);')
        e(*checks, "return bad;")
    e("")


def _readme(
    entries: Sequence[Entry], work: Mapping[str, int], facts: Facts, bits: int, joints: Sequence[Coordinates]
) -> str:
    name, functions = facts.name, "\n".join(_section(entry, work, facts, bits) for entry in entries)
    return f"""\
# {name}: a job of one robot in C

Every number is a `{real_of(bits)}`, nq = {facts.nq}, nv = {facts.nv}. {birth(facts)}

| file | what it is |
|---|---|
| `{name}.h` | the header, for C and C++: above each function what it computes, and its arguments |
| `{name}.c` | the functions: one C99 file that needs only the C library and `libm` |
| `test.c` | calls functions with known answers; with a number, such as `./check 1000`, it prints times too |
| `CMakeLists.txt` | the library `{library_of(name)}`, the test, and the package `{name}` |
| `robot.json` | names of joints, bodies and frames, in their order |
| `condyle-export.json` | the files of this export; a later export replaces only these |

```sh
cmake -S . -B build && cmake --build build && ctest --test-dir build
cc -O2 -march=native -ffp-contract=fast -fno-math-errno *.c -lm -o check && ./check
```

`-DCONDYLE_NATIVE=OFF` builds for other machines of the same architecture.

A call is one problem. It allocates no memory, and nothing is kept between calls, so several threads may call at once,
each with a workspace of its own, at any address. Arrays are contiguous, the last index first; those of a call must not
overlap.

{functions}
## Order of joints

{order(joints)}
"""


def _section(entry: Entry, work: Mapping[str, int], facts: Facts, bits: int) -> str:
    name = f"{facts.name}_{entry.schedule.name}"
    lines = [f"## {name}", "", table_cell(entry.text), "", "```c", _head(entry, facts, bits), "```", ""]
    lines += [f"`work` has `{name}_work_bytes` = {work[entry.schedule.name]} bytes.", ""]
    lines += ["| argument | | shape | unit | meaning |", "|---|---|---|---|---|"]
    for way, argument, slab in entry.arguments:
        shape, unit, text, _ = entry.meanings[slab]
        lines.append(
            f"| `{argument}` | {way} | {' x '.join(map(str, shape))} | {table_cell(unit)} | {table_cell(text)} |"
        )
    return "\n".join([*lines, ""])
