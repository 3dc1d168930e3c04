"""Functions for microcontrollers: freestanding C of one state a call, with test, README and CMakeLists.txt."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from condyle.backends.c.export import section, without_test, write_case, write_untested
from condyle.backends.c.part_report import Budget, with_report
from condyle.backends.c.rolled import Body
from condyle.backends.c.source import body_in_c, in_rounds, real_of, support, write_preamble, write_tile
from condyle.backends.c.target import TARGET
from condyle.backends.common.exported_files import (
    QUATERNIONS,
    Coordinates,
    birth,
    counted,
    library_of,
    order,
    write_library,
    write_owned,
)
from condyle.backends.common.facts import IN_C, LONG, Facts, Vectors, argument_names, bits_of, checked_name, header
from condyle.backends.common.forms import literal
from condyle.ir.count import tally
from condyle.ir.loops import Code
from condyle.ir.segments import Iteration, Segmented
from condyle.operations import TRIGONOMETRIC
from condyle.text import Emitter


class Single(NamedTuple):
    """A function of one state as C. stack: bytes of its numbers. branches: what depends on data in it, as text."""

    text: str
    stack: int
    branches: tuple[str, ...]

    @property
    def note(self) -> str:
        depends = "; ".join(self.branches) or "nothing"
        return f"Stack: {self.stack} bytes of numbers, and the compiler's frames. Depends on data: {depends}."


def export_embedded(
    programs: Sequence[Code],
    facts: Facts,
    out_dir: Path,
    vectors: Mapping[str, Vectors],
    robot: Mapping[str, object],
    joints: Sequence[Coordinates],
    dtype: str = "float64",
    bodies: int = 0,
    libm: bool = False,
    budget: Budget | None = None,
) -> list[Path]:
    """Writes NAME.h, NAME_FN.c, CMakeLists.txt, test.c, README.md, robot.json and the manifest; gives the paths.

    As `export_c`. libm: the mathematical library's sines and roots in place of those in the text. budget: as in
    `part_report.with_report`.
    """
    bits, name = bits_of(dtype), facts.name
    singles = {program.name: single(program, facts, bits, libm) for program in programs}
    texts = {f"{name}.h": _header_file(programs, facts, bits, singles, bodies)}
    texts |= {f"{name}_{function}.c": written.text for function, written in singles.items()}
    texts["test.c"] = _test_file(programs, facts, bits, vectors)
    texts["CMakeLists.txt"] = embedded_cmake(name, " ".join(f"{name}_{function}.c" for function in singles), libm)
    texts["README.md"] = _readme(programs, facts, bits, joints, singles, libm, vectors)
    texts["robot.json"] = json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n"
    return write_owned(out_dir, with_report(name, texts, budget, [one for one in singles if one not in vectors]))


def single(code: Code, facts: Facts, bits: int, libm: bool) -> Single:
    """The complete C source of a function of one state, with its numbers on the stack."""
    checked_name(code.name, IN_C, LONG)
    code = in_rounds(code, bits)
    body, ops, e = body_in_c(code, bits), tally(code), Emitter()
    e(*header(code, facts, f"float{bits}", TARGET.abi, single=True), "")
    write_embedded_preamble(e, bits, ops, body.size, libm)
    if body.products:
        e(support("product.h"))
    write_tile(e, code.name, body, [text for text, _ in body.chunks])
    e(f'#include "{facts.name}.h"', "")
    with e.block(f"{_head(code, facts, bits)}\n{{"):
        _write_call(e, code, body, bits)
    return Single(e.text(), body.size * bits // 8, _branches(code, ops, bits, libm))


def write_embedded_preamble(e: Emitter, bits: int, ops: Collection[str], slots: int, libm: bool) -> None:
    """Number type, slots, operations, sines; without a library, or with libm. slots: how many there are."""
    if libm:
        e("#define CD_SCALAR")
    write_preamble(e, bits, False, ops, freestanding=not libm)
    e("typedef char cd_checked_size[sizeof(real) * 8 == REAL_BITS ? 1 : -1];")
    e(f"typedef unsigned {'short' if slots < 65536 else 'int'} cd_slot;", "", support("sincos.h"))


def _write_call(e: Emitter, code: Code, body: Body, bits: int) -> None:
    """Inputs to their slots, the tile, and outputs from theirs: an output may be the array of an input."""
    inputs, outputs = argument_names(code.inputs, "in"), argument_names(code.arrays, "out")
    e(f"real w[{body.size}];", "size_t k;")
    if body.held:
        e(f"const real *const in[] = {{{', '.join(inputs[k] for k in body.held)}}};")
    for slot, value in ((body.zero, 0.0), *body.constants):
        e(f"w[{slot}] = {literal(value, bits)};")
    for k, (name, array) in enumerate(zip(inputs, code.inputs, strict=True)):
        if array.size and k not in body.alone:
            with e.block(f"for (k = 0; k < {array.size}; k++) {{"):
                e(f"w[{body.bases[k]} + k] = {name}[k];", "CD_KEEP(k);")
        elif not array.size:
            e(f"(void){name};")
    e(f"{code.name}_tile({'w, in' if body.held else 'w'});")
    for k, (name, table) in enumerate(zip(outputs, body.tables, strict=True)):
        if table:
            with e.block(f"for (k = 0; k < {len(table)}; k++) {{"):
                e(f"{name}[k] = w[{code.name}_out_{k}[k]];")
        else:
            e(f"(void){name};")
    e("(void)k;")


def _branches(code: Code, ops: Collection[str], bits: int, libm: bool) -> tuple[str, ...]:
    """What depends on data."""
    reach = "1e5" if bits == 64 else "3200"
    far = f"sines and cosines of angles beyond {reach}, infinities and NaN take a longer way"
    parts = code.segments if isinstance(code, Segmented) else ()
    ends = [part.most for part in parts if isinstance(part, Iteration) and part.until >= 0]
    return (
        *(["sines and cosines are those of `libm`"] if libm and TRIGONOMETRIC & set(ops) else []),
        *([far] if not libm and TRIGONOMETRIC & set(ops) else []),
        *(f"an iteration ends when it is done, after {most} turns at most" for most in ends),
    )


# The header.


def _arguments(code: Code) -> list[tuple[str, int, bool]]:
    """Of each argument its name, its size, and whether it is an input."""
    return [
        (name, array.size, way == "in")
        for way, arrays in (("in", code.inputs), ("out", code.arrays))
        for name, array in zip(argument_names(arrays, way), arrays, strict=True)
    ]


def _head(code: Code, facts: Facts, bits: int) -> str:
    arguments = [
        f"{'const ' if is_input else ''}{real_of(bits)} {name}[{max(1, size)}]"
        for name, size, is_input in _arguments(code)
    ]
    return f"void {facts.name}_{code.name}({', '.join(arguments)})"


def _header_file(programs: Sequence[Code], facts: Facts, bits: int, singles: Mapping[str, Single], bodies: int) -> str:
    e, upper, real = Emitter(), facts.name.upper(), real_of(bits)
    guard = f"CONDYLE_{upper}_H"
    e(f"#ifndef {guard}", f"#define {guard}", "#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    e(f"enum {{ {upper}_NQ = {facts.nq}, {upper}_NV = {facts.nv}, {upper}_N_BODIES = {bodies} }};", "")
    e(*_CALLS.replace("NAME", facts.name).replace("UPPER", upper).splitlines())
    write_sizes(e, facts.name, bits)
    for code in programs:
        symbol, arguments = f"{facts.name}_{code.name}", _arguments(code)
        e("", *header(code, facts, f"float{bits}", TARGET.abi, single=True), f"{_head(code, facts, bits)};")
        e(f"enum {{ {symbol.upper()}_STACK = {singles[code.name].stack} }};")
        sized = ", ".join(f"CONDYLE_SIZED({name}, {size}, {real})" if size else name for name, size, _ in arguments)
        e(f"#define {symbol.upper()}({', '.join(name for name, *_ in arguments)}) \\", f"    {symbol}({sized})")
    e("", "#ifdef __cplusplus", "}", "#endif", "#endif")
    return e.text()


_CALLS = """\
/* Each function FN computes one state. It has no memory between calls, so interrupts and threads may call it at once.
 *   NAME_FN        arrays of these sizes; an output may be the array of an input, but not of another output
 *   UPPER_FN       the same for arrays whose sizes the compiler sees: another size is an error when it is compiled
 *   UPPER_FN_STACK bytes of numbers that it has on the stack; the compiler adds its frames */"""
_SIZED = """\
#ifndef CONDYLE_SIZED
#define CONDYLE_SIZED(array, size, number) \\
    ((array) + (sizeof(char[sizeof(array) == (size) * sizeof(number) ? 1 : -1]) - 1))
#endif"""


def write_sizes(e: Emitter, name: str, bits: int) -> None:
    """What the compiler checks: the size of a number, and with CONDYLE_SIZED that of an array."""
    real = real_of(bits)
    e(f"typedef char {name}_Size_of_{real}[sizeof({real}) == {bits // 8} ? 1 : -1];", *_SIZED.splitlines())


# The test.


def _test_file(programs: Sequence[Code], facts: Facts, bits: int, vectors: Mapping[str, Vectors]) -> str:
    e, tested = Emitter(), [code for code in programs if code.name in vectors]
    write_bare_head(e, facts.name, bits, bool(tested))
    for code in tested:
        _write_case(e, code, facts, bits, vectors[code.name])
    untested = [code.name for code in programs if code.name not in vectors]
    write_bare_check(e, facts.name, [code.name for code in tested], untested)
    return e.text()


def write_bare_head(e: Emitter, name: str, bits: int, compares: bool = True) -> None:
    """Writes what a test without a library begins with: `Wrong` compares an array with what is wanted, if any is."""
    real = real_of(bits)
    # names here have a capital letter, which no exported name has, so NAME_FN cannot be one of them
    e(f"/* {name}_check() calls every function on states with known results, and gives how many are wrong.")
    e(" * With CONDYLE_BARE there is no main, and nothing of the C library is used. */")
    e(f'#include "{name}.h"', "#ifndef CONDYLE_BARE", "#include <stdio.h>", "#endif", "")
    e(f"int {name}_check(void);", "")
    if not compares:
        return
    with e.block(f"static int Wrong(const {real} *got, const {real} *want, int size, {real} allowed)\n{{"):
        e(f"{real} scale = 0, error = 0;", "int k, bad = 0;")
        with e.block("for (k = 0; k < size; k++) {"):
            e(f"const {real} e = got[k] < want[k] ? want[k] - got[k] : got[k] - want[k];")
            e(f"const {real} s = want[k] < 0 ? -want[k] : want[k];")
            e("scale = s > scale ? s : scale;", "error = e > error ? e : error;", "bad |= !(e == e);")
        e("return bad || !(error <= allowed * scale);")
    e("")


def write_bare_check(e: Emitter, name: str, tested: Sequence[str], untested: Sequence[str] = ()) -> None:
    """Writes `NAME_check`, and a main that says which functions are wrong. tested: each FN has a `Test_FN`."""
    with e.block(f"int {name}_check(void)\n{{"):
        e("int wrong = 0;", *(f"wrong += Test_{function}();" for function in tested), "return wrong;")
    e("", "#ifndef CONDYLE_BARE")
    with e.block("int main(void)\n{"):
        for function in tested:
            e(f'printf("%-24s %s\\n", "{function}", Test_{function}() ? "WRONG" : "right");')
        write_untested(e, untested)
        e(f"return {name}_check() != 0;")
    e("#endif")


def _write_case(e: Emitter, code: Code, facts: Facts, bits: int, case: Vectors) -> None:
    name, n = code.name, write_case(e, code.name, bits, case)
    places = [f"{name}_in_{k} + k * {array.size}" for k, array in enumerate(code.inputs)]
    places += [f"{name}_got_{k} + k * {array.size}" for k, array in enumerate(code.arrays)]
    e("")
    with e.block(f"static int Test_{name}(void)\n{{"):
        e("int k, bad = 0;")
        with e.block(f"for (k = 0; k < {n}; k++) {{"):
            e(f"{facts.name}_{name}({', '.join(places)});")
        for k, array in enumerate(case.outputs):
            allowed = literal(case.tolerance_of(k), bits)
            e(f"bad |= Wrong({name}_got_{k}, {name}_out_{k}, {array.size}, {allowed});")
        e("return bad;")
    e("")


# The CMakeLists.txt and the README.


def embedded_cmake(name: str, sources: str, libm: bool = False) -> str:
    """A library for the compiler that CMake is given, and its test where that is this machine's."""
    e, library = Emitter(), library_of(name)
    write_library(e, name, TARGET.abi, "C", f"STATIC {sources}")
    e(f"set_target_properties({library} PROPERTIES C_STANDARD 99)")
    e(*([f"target_link_libraries({library} PUBLIC m)"] if libm else []), "")
    e("# OFF: equal bits on every machine")
    e('option(CONDYLE_CONTRACT "Round a * b + c once, where the machine can" ON)')
    with e.block('if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")', "endif()"):
        e(f"target_compile_options({library} PRIVATE -O2 -fno-math-errno -ffunction-sections -fdata-sections")
        e(f"  {'' if libm else '-ffreestanding '}-ffp-contract=$<IF:$<BOOL:${{CONDYLE_CONTRACT}}>,fast,off>)")
    e("", "# the test, if this is the top-level project and this machine runs it")
    top = "CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR AND NOT CMAKE_CROSSCOMPILING"
    with e.block(f"if({top})", "endif()"):
        e("enable_testing()", f"add_executable({library}_test test.c)")
        e(f"target_link_libraries({library}_test PRIVATE {library})")
        e(f"add_test(NAME {library}_test COMMAND {library}_test)")
    return e.text()


def _readme(
    programs: Sequence[Code],
    facts: Facts,
    bits: int,
    joints: Sequence[Coordinates],
    singles: Mapping[str, Single],
    libm: bool,
    tested: Collection[str],
) -> str:
    name, library = facts.name, library_of(facts.name)
    notes = {code.name: f"{singles[code.name].note}{without_test(code.name, tested)}" for code in programs}
    functions = "\n".join(
        section(code, facts, _head(code, facts, bits), notes[code.name], single=True) for code in programs
    )
    sources = ", ".join(f"`{name}_{code.name}.c`" for code in programs)
    needs = "`libm`" if libm else "no library, and no header but `stddef.h` and `stdint.h`"
    return f"""\
# {name}: rigid-body dynamics for a microcontroller

{counted(len(programs))} of one robot, nq = {facts.nq}, nv = {facts.nv}, every number a `{real_of(bits)}`.
{birth(facts)}

| file | what it is |
|---|---|
| `{name}.h` | the header, for C and C++: above each function its equation, arguments and number of operations |
| {sources} | the functions: each is one file of C99 that needs {needs} |
| `test.c` | `{name}_check()` calls every function on states with known results, and gives how many are wrong |
| `CMakeLists.txt` | the library `{library}`, and the test where this machine runs it |
| `robot.json` | names of joints, bodies and frames, in their order |
| `condyle-export.json` | the files of this export; a later export replaces only these |

{embedded_notes(name, bits, libm)}
## Functions

Units are SI; of two units, such as N m or N, the first is that of a rotation, the second that of a translation.

{functions}
## Order of joints

{order(joints)}

{QUATERNIONS}"""


def embedded_notes(name: str, bits: int, libm: bool = False) -> str:
    """How it is tested and compiled, and what it promises."""
    lean = "" if libm else "-ffreestanding "
    return f"""\
Test on this machine, and compile for another one, such as a Cortex-M7:

```sh
cc -O2 *.c{" -lm" if libm else ""} -o check && ./check
arm-none-eabi-gcc -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard -mthumb -O2 {lean}-c {name}*.c
```

On a machine without a console compile `test.c` with `-DCONDYLE_BARE` and call `{name}_check()`.

Functions allocate no memory, have no recursion, and keep nothing between calls; loops have fixed bounds. A NaN in an
input gives NaN in what is computed from it, an infinity NaN or infinity (or a limit, as of 1/x), and nothing traps.
With `-ffp-contract=off` the answers have equal bits on all machines with IEEE
arithmetic{", but for the functions of `libm`" if libm else ""}. A processor without
instructions for a `{real_of(bits)}` takes those of its compiler's library (libgcc), and is many times slower.
{"" if libm else _ACCURACY}"""


_ACCURACY = """
Sines and cosines of any finite angle are within 1.1 units in the last place. Square roots are rounded correctly.
"""
