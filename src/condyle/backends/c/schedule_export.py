"""Schedules as a C project: NAME.h, NAME.c, CMakeLists.txt, a self-checking test with times, README, names."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from textwrap import wrap

import numpy as np

from condyle.backends.c.embedded import embedded_cmake, embedded_notes, write_bare_check, write_bare_head, write_sizes
from condyle.backends.c.export import cmake_file, table_cell, write_compare
from condyle.backends.c.part_report import Budget, with_report
from condyle.backends.c.rolled import write_numbers
from condyle.backends.c.schedule import Entry, Example, schedules_in_c
from condyle.backends.c.source import fact_symbols, real_of, write_facts
from condyle.backends.c.target import TARGET
from condyle.backends.common.exported_files import Coordinates, birth, library_of, order, write_owned
from condyle.backends.common.facts import IN_C, Facts, bits_of, checked_name, in_ascii
from condyle.backends.common.forms import literal
from condyle.ir.loops import Code
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
    budget: Budget | None = None,
) -> list[Path]:
    """Writes NAME.h, NAME.c, CMakeLists.txt, test.c, README.md, robot.json and the manifest; gives the paths.

    kernels: {name in calls: code}. robot, joints: as in `export_c`. embedded: without any library. budget: as in
    `part_report.with_report`. Only files that an export wrote are replaced.
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
        f"{name}.h": _header(entries, work, facts, bits, embedded),
        f"{name}.c": e.text(),
        "test.c": _embedded_test(entries, facts, bits) if embedded else _test(entries, facts, bits),
        "CMakeLists.txt": (embedded_cmake if embedded else cmake_file)(name, f"{name}.c"),
        "README.md": _readme(entries, work, facts, bits, joints, embedded),
        "robot.json": json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n",
    }
    return write_owned(out, with_report(name, texts, budget))


def _head(entry: Entry, facts: Facts, bits: int) -> str:
    return entry.head(facts.name, bits, [name for _, name, _ in entry.arguments]) + ";"


def _sized(entry: Entry, facts: Facts, bits: int) -> str:
    """A macro by which the compiler checks the sizes of a call's arrays."""
    symbol, names = f"{facts.name}_{entry.schedule.name}", [name for _, name, _ in entry.arguments]
    sizes = [entry.schedule.slab(slab).length for *_, slab in entry.arguments]
    checked = [f"CONDYLE_SIZED({name}, {size}, {real_of(bits)})" for name, size in zip(names, sizes, strict=True)]
    work = f"(work) + (sizeof(char[sizeof(work) >= {symbol}_work_bytes ? 1 : -1]) - 1)"
    lines = wrap(f"#define {symbol.upper()}({', '.join([*names, 'work'])})", 110)
    lines += wrap(f"{symbol}({', '.join([*checked, work])})", 110)
    return " \\\n    ".join(lines)


def _plain(text: str) -> str:
    """Text that ends no comment."""
    return in_ascii(" ".join(text.split())).replace("*/", "* /")


def _header(entries: Sequence[Entry], work: Mapping[str, int], facts: Facts, bits: int, embedded: bool) -> str:
    e, guard = Emitter(), f"CONDYLE_{facts.name.upper()}_H"
    e(f"/* robot {facts.fingerprint or '-'}, nq = {facts.nq}, nv = {facts.nv}, float{bits}")
    e(f" * Condyle {facts.version or '-'}, ABI {TARGET.abi}", " *")
    e(" * A call is one problem. It allocates nothing, and nothing is kept between calls: several threads may call at")
    e(" * once, each with a workspace of its own, NAME_FN_work_bytes bytes at any address. Arrays of a call must not")
    e(f" * overlap.{SIZED if embedded else ''} */")
    e(f"#ifndef {guard}", f"#define {guard}", "#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    if embedded:
        write_sizes(e, facts.name, bits)
    else:
        e(*(f"extern const {head};" for head, _ in fact_symbols(facts)))
    for entry in entries:
        e("", *wrap(f"/* {entry.schedule.name}: {_plain(entry.text)}", 116, subsequent_indent=" * "))
        for way, argument, slab in entry.arguments:
            meaning = entry.meanings[slab]
            shape = "".join(f"[{n}]" for n in meaning.shape)
            e(f" * {way:3} {argument}{shape}  {_plain(meaning.text)} [{_plain(meaning.unit)}]")
        size = f"{facts.name}_{entry.schedule.name}_work_bytes = {work[entry.schedule.name]}"
        e(" */", f"enum {{ {size} }};", _head(entry, facts, bits), *([_sized(entry, facts, bits)] if embedded else []))
    e("", "#ifdef __cplusplus", "}", "#endif", "#endif")
    return e.text()


SIZED = """ NAME_FN in capital letters is the same for arrays whose sizes the compiler sees: another size is an error
 * when it is compiled."""


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


def _embedded_test(entries: Sequence[Entry], facts: Facts, bits: int) -> str:
    e, tried = Emitter(), [(entry, entry.example) for entry in entries if entry.example is not None]
    write_bare_head(e, facts.name, bits)
    for entry, example in tried:
        name, allowed = entry.schedule.name, literal(example.tolerance, bits)
        call, answers = _write_arrays(e, entry, example, f"{facts.name}_{name}", bits)
        with e.block(f"static int Test_{name}(void)\n{{"):
            e("int bad = 0;", call)
            e(*(f"bad |= Wrong({numbers}, {allowed});" for _, numbers in answers), "return bad;")
        e("")
    write_bare_check(e, facts.name, [entry.schedule.name for entry, _ in tried])
    return e.text()


def _write_arrays(
    e: Emitter, entry: Entry, example: Example, symbol: str, bits: int
) -> tuple[str, list[tuple[str, str]]]:
    """Writes the arrays of a call; gives the call, and of each answer its name and what is compared."""
    name, real, passed, answers = entry.schedule.name, real_of(bits), list[str](), list[tuple[str, str]]()
    for k, (way, argument, slab) in enumerate(entry.arguments):
        known = np.ravel((example.inputs if way == "in" else example.outputs)[slab])
        write_numbers(e, f"{name}_{k}", [float(x) for x in known], bits, real)
        passed.append(f"{name}_{k}" if way == "in" else f"{name}_got_{k}")
        if way == "out":
            e(f"static {real} {name}_got_{k}[{max(1, known.size)}];")
            answers.append((argument, f"{name}_got_{k}, {name}_{k}, {known.size}"))
    e(f"static unsigned char {name}_work[{symbol}_work_bytes];", "")
    return f"{symbol}({', '.join([*passed, f'{name}_work'])});", answers


def _write_case(e: Emitter, entry: Entry, example: Example, symbol: str, bits: int) -> None:
    name = entry.schedule.name
    call, answers = _write_arrays(e, entry, example, symbol, bits)
    with e.block(f"static int Test_{name}(long times)\n{{"):
        e("const clock_t start = clock();", "int bad = 0;", "long k;")
        with e.block("for (k = 0; k <= times; k++) {"):
            e(call)
        with e.block("if (times > 0) {"):
            e("const double seconds = (double)(clock() - start) / CLOCKS_PER_SEC;")
            e(f'printf("{name}  %.2f us a call\\n", 1e6 * seconds / (double)k);')
        e(
            *(f'bad |= wrong("{name} {argument}", {x}, {example.tolerance!r});' for argument, x in answers),
            "return bad;",
        )
    e("")


_BUILD = """\
```sh
cmake -S . -B build && cmake --build build && ctest --test-dir build
cc -O2 -march=native -ffp-contract=fast -fno-math-errno *.c -lm -o check && ./check
```

`-DCONDYLE_NATIVE=OFF` builds for other machines of the same architecture.
"""
_HOSTED = (
    "only the C library and `libm`",
    "calls functions with known answers; with a number, such as `./check 1000`, it prints times too",
    "the test, and the package `NAME`",
)
_EMBEDDED = (
    "no library, and of the headers only `stddef.h` and `stdint.h`",
    "`NAME_check()` calls functions with known answers, and gives how many are wrong",
    "and the test where this machine runs it",
)
"""What is said of an export's needs, its test, and its package; without libraries for microcontrollers."""
_BRANCHES = """
Depends on data: iterations and searches end when they are done, after a fixed number of turns at most; sines and
cosines of angles beyond 3200 rad (float64: 1e5), infinities and NaN take a longer way.
"""


def _readme(
    entries: Sequence[Entry],
    work: Mapping[str, int],
    facts: Facts,
    bits: int,
    joints: Sequence[Coordinates],
    embedded: bool,
) -> str:
    name, functions = facts.name, "\n".join(_section(entry, work, facts, bits) for entry in entries)
    words = [text.replace("NAME", name) for text in (_EMBEDDED if embedded else _HOSTED)]
    built = embedded_notes(name, bits) + _BRANCHES if embedded else _BUILD
    return f"""\
# {name}: a job of one robot in C

Every number is a `{real_of(bits)}`, nq = {facts.nq}, nv = {facts.nv}. {birth(facts)}

| file | what it is |
|---|---|
| `{name}.h` | the header, for C and C++: above each function what it computes, and its arguments |
| `{name}.c` | the functions: one C99 file that needs {words[0]} |
| `test.c` | {words[1]} |
| `CMakeLists.txt` | the library `{library_of(name)}`, {words[2]} |
| `robot.json` | names of joints, bodies and frames, in their order |
| `condyle-export.json` | the files of this export; a later export replaces only these |

{built}
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
