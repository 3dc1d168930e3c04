"""A robot's functions as a C project: sources, header, CMakeLists.txt, a self-checking test, README, names."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import numpy as np

from condyle.backends.c.rolled import write_numbers
from condyle.backends.c.source import (
    Source,
    fact_symbols,
    given_head,
    plain_head,
    real_of,
    source,
    strided_head,
    write_facts,
    write_preamble,
)
from condyle.backends.c.target import TARGET
from condyle.backends.common.exported_files import (
    QUATERNIONS,
    Coordinates,
    birth,
    counted,
    library_of,
    order,
    write_install,
    write_library,
    write_owned,
)
from condyle.backends.common.facts import (
    UNTESTED,
    Facts,
    Vectors,
    argument_names,
    bits_of,
    body_of,
    described,
    header,
    in_ascii,
)
from condyle.ir.loops import Code, Repeated
from condyle.text import Emitter

# The CMakeLists.txt of an exported C project: a library, its test, and a package that other projects find.


def cmake_file(name: str, sources: str) -> str:
    """The text; the version of the package is the ABI number."""
    e, library = Emitter(), library_of(name)
    write_library(e, name, TARGET.abi, "C", f"STATIC {sources}")
    e(f"set_target_properties({library} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)")
    e(f"target_link_libraries({library} PUBLIC m)", "")
    e("# ON: all instructions of this machine, fused multiply-add too; OFF: for any machine of this architecture")
    e('option(CONDYLE_NATIVE "Use every instruction of this machine" ON)')
    with e.block('if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")', "endif()"):
        e(f"target_compile_options({library} PRIVATE -O2 -ffp-contract=fast -fno-math-errno)")
        with e.block("if(CONDYLE_NATIVE)", "endif()"):
            e(f"target_compile_options({library} PRIVATE -march=native)")
    e("")
    write_install(e, name, f"{name}.h", f"-l{library} -lm")
    e("", "# the test, if this is the top-level project")
    with e.block("if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)", "endif()"):
        e("enable_testing()", f"add_executable({library}_test test.c)")
        e(f"set_target_properties({library}_test PROPERTIES C_STANDARD 99)")
        e(f"target_link_libraries({library}_test PRIVATE {library})")
        e(f"add_test(NAME {library}_test COMMAND {library}_test)")
    return e.text()


# The README of an exported C project.


def readme(
    programs: Sequence[Code | Repeated],
    facts: Facts,
    real: str,
    joints: Sequence[Coordinates],
    generated: Mapping[str, Source],
    tested: Collection[str],
) -> str:
    """README.md: the files, how to build, test and install them, each function, the order of the joints."""
    name, library = facts.name, library_of(facts.name)
    sources = ", ".join(f"`{name}_{program.name}.c`" for program in programs)
    ways = {function: plain_head if text.plain else given_head for function, text in generated.items()}
    functions = "\n".join(
        section(
            program,
            facts,
            ways[program.name](program, f"{name}_{program.name}", real),
            without_test(program.name, tested).strip(),
        )
        for program in programs
    )
    return f"""\
# {name}: rigid-body dynamics in C

{counted(len(programs))} of one robot, nq = {facts.nq}, nv = {facts.nv}, every number a `{real}`.
{birth(facts)}

| file | what it is |
|---|---|
| `{name}.h` | the header, for C and C++: above each function its equation, arguments and number of operations |
| {sources} | the functions: each is one C99 file that needs only the C library and `libm` |
| `{name}_facts.c` | sizes, fingerprint and version as constants, to compare with those of the header |
| `test.c` | calls every function on states with known results |
| `CMakeLists.txt` | the library `{library}`, the test, and the package `{name}` |
| `robot.json` | names of joints, bodies and frames, in their order |
| `condyle-export.json` | the files of this export; a later export replaces only these |

Build and test with CMake, or with one compiler call. The exit status of the test is 0 if all results are right:

```sh
cmake -S . -B build && cmake --build build && ctest --test-dir build
cc -O2 -march=native -ffp-contract=fast -fno-math-errno *.c -lm -o check && ./check
```

`-DCONDYLE_NATIVE=OFF` builds for other machines of the same architecture. `cmake --install build --prefix PLACE`
installs a package; its version is the ABI number. Another project uses the package, or `add_subdirectory` with this
folder:

```cmake
find_package({name} {TARGET.abi} CONFIG REQUIRED)   # with -DCMAKE_PREFIX_PATH=PLACE; not after add_subdirectory
target_link_libraries(app {name}::{name})
```

Without CMake: `pkg-config --cflags --libs {name}`, with PLACE/lib/pkgconfig in PKG_CONFIG_PATH.

## Functions

Arrays have n rows, one for each state, one after the other. Functions allocate no memory, have no state between calls,
and may be called from several threads at once. `{name}_FN` has its workspace on the stack, and is missing if that is
more than {TARGET.stack // 1024} KiB. `{name}_FN_with` takes a workspace from the caller, at any address.
`{name}_FN_strided` also takes the distance between rows. The size of a workspace is {name.upper()}_FN_WORK bytes, a
constant that is enough on any machine, or {name}_FN_work() bytes.

The functions with `_f_ext` take external forces: for each body, in the order of `robot.json`, [force; torque] at the
origin of the body's frame, in that frame's axes. In the functions without `_f_ext` they are zero. Units are SI; of two
units, such as N m or N, the first is that of a rotation, the second that of a translation.
{_rollouts(programs, name)}
{functions}
## Order of joints

{order(joints)}

{QUATERNIONS}"""


def _rollouts(programs: Sequence[Code | Repeated], name: str) -> str:
    if not any(isinstance(program, Repeated) for program in programs):
        return ""
    return f"""
A rollout repeats a function: its output `X_next` is the input X of the next step. It computes `steps` steps and stores
the results of steps number every, 2 every, ... and of the last one: rows = ceil(steps / every). With every = 0 it
stores the last one only, rows = 1. `{name}_FN_strided` of a rollout also takes `in_step` and `out_step`, the number of
elements between the rows of two steps. An input with in_step = 0 is the same at every step; any other has a row for
each step.
"""


def section(program: Code | Repeated, facts: Facts, head: str, note: str = "", single: bool = False) -> str:
    """A function in the README: its equation, its declaration, a note, its arguments. single: of one state."""
    function = facts.functions.get(program.name)
    rows = [
        f"| `{name}` | {way} | {' x '.join(str(x) for x in shape if x != 'n' or not single) or '1'} | "
        f"{table_cell(port.unit) if port else ''} | {table_cell(port.doc) if port else ''} |"
        for way, name, shape, port in described(program, facts)
    ]
    return "\n".join(
        [
            f"### {facts.name}_{program.name}",
            "",
            *([] if function is None else [in_ascii(function.equation), ""]),
            "```c",
            f"{head};",
            "```",
            "",
            *([note, ""] if note else []),
            "| argument | | shape | unit | meaning |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def table_cell(text: str) -> str:
    """Text as a cell of a Markdown table."""
    return in_ascii(text.replace("|", "or"))


def export_c(
    programs: Sequence[Code | Repeated],
    facts: Facts,
    out_dir: Path,
    vectors: Mapping[str, Vectors],
    robot: Mapping[str, object],
    joints: Sequence[Coordinates],
    dtype: str = "float64",
    bodies: int = 0,
) -> list[Path]:
    """Writes NAME.h, NAME_FN.c, NAME_facts.c, CMakeLists.txt, test.c, README.md, robot.json and the manifest; gives the
    paths.

    Only files that an export wrote are replaced: see `write_owned`. vectors: {name of a Program: test vectors}. robot:
    names of joints, bodies and frames, written to robot.json only. joints: their order, for the README. bodies: number
    of moving bodies. Raises UnsupportedError as `build` does.
    """
    bits, name = bits_of(dtype), facts.name
    made = {program.name: source(program, facts, bits, constants=False) for program in programs}
    texts = {
        f"{name}.h": _header_file(programs, facts, bits, made, bodies),
        f"{name}_facts.c": _facts_file(facts, bits),
    }
    texts |= {f"{name}_{function}.c": one.main for function, one in made.items()}
    texts["test.c"] = _test_file(programs, facts, bits, vectors, made)
    sources = " ".join(f"{name}_{part}.c" for part in ("facts", *made))
    texts["CMakeLists.txt"] = cmake_file(name, sources)
    texts["README.md"] = readme(programs, facts, real_of(bits), joints, made, vectors)
    texts["robot.json"] = json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n"
    return write_owned(out_dir, texts)


def _header_file(
    programs: Sequence[Code | Repeated], facts: Facts, bits: int, generated: Mapping[str, Source], bodies: int
) -> str:
    e = Emitter()
    guard = f"CONDYLE_{facts.name.upper()}_H"
    e(f"#ifndef {guard}", f"#define {guard}", "#include <stddef.h>", "#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    upper = facts.name.upper()
    sizes = f"{upper}_NQ = {facts.nq}, {upper}_NV = {facts.nv}, {upper}_N_BODIES = {bodies}"
    e("/* Sizes as constant expressions. The variables below have the values of the library that was linked. */")
    e(f"enum {{ {sizes} }};")
    e(*(f"extern const {head};" for head, _ in fact_symbols(facts)), "")
    e(*_CALLS.replace("STACK", str(TARGET.stack // 1024)).replace("NAME", facts.name).splitlines())
    for program in programs:
        symbol = f"{facts.name}_{program.name}"
        e("", *header(program, facts, f"float{bits}", TARGET.abi))
        one = generated[program.name]
        if one.plain:
            e(plain_head(program, symbol, real_of(bits)) + ";")
        e(given_head(program, symbol, real_of(bits)) + ";", strided_head(program, symbol, real_of(bits)) + ";")
        e(f"enum {{ {symbol.upper()}_WORK = {one.work} }};", f"size_t {symbol}_work(void);")
    e("", "#ifdef __cplusplus", "}", "#endif", "#endif")
    return e.text()


_CALLS = """\
/* Each function FN has these entries. They may be called from several threads at once.
 *   NAME_FN          contiguous arrays, n rows one after the other; the workspace is on the stack. It is missing
 *                    if the workspace is more than STACK KiB.
 *   NAME_FN_with     the same with a workspace from the caller, at any address
 *   NAME_FN_strided  the same with strides: the number of elements between two rows; 0: one row for all states
 *   NAME_FN_WORK     bytes of workspace that are enough on any machine
 *   NAME_FN_work()   bytes of workspace that are enough on the machine that it was compiled for
 * The return value is 0; for a rollout with steps = 0 it is 1. FN_f_ext is FN with external forces, which are zero
 * in FN. */"""


def _facts_file(facts: Facts, bits: int) -> str:
    e = Emitter()
    write_preamble(e, bits, apart=False)
    write_facts(e, facts)
    return e.text()


def _test_file(
    programs: Sequence[Code | Repeated],
    facts: Facts,
    bits: int,
    vectors: Mapping[str, Vectors],
    generated: Mapping[str, Source],
) -> str:
    real = real_of(bits)
    e = Emitter()
    # names here have a capital letter, which no exported name has, so NAME_FN cannot be one of them
    e("/* Calls every function on states with known results; exit status 0 if all results agree. */")
    e(f'#include "{facts.name}.h"', "#include <math.h>", "#include <stdio.h>", "")
    tested = [program for program in programs if program.name in vectors]
    if tested:
        write_compare(e, real)
    for program in tested:
        _write_case(e, program, facts, bits, vectors[program.name], generated[program.name].plain)
    e("")
    with e.block("int main(void)\n{"):
        e("int bad = 0;", *(f"bad |= Test_{program.name}();" for program in tested))
        write_untested(e, [program.name for program in programs if program.name not in vectors])
        e("return bad;")
    return e.text()


def write_untested(e: Emitter, names: Sequence[str]) -> None:
    """Writes what the test prints of functions without test vectors."""
    e(*(f'printf("%-24s %s\\n", "{name}", "no test: {UNTESTED}");' for name in names))


def without_test(name: str, tested: Collection[str]) -> str:
    """What the README says behind a function's note where it has no test vectors."""
    return "" if name in tested else f" It has no test: {UNTESTED}."


def write_compare(e: Emitter, real: str) -> None:
    """Writes `wrong`, which compares an array with what is wanted, and prints the error."""
    with e.block(
        f"static int wrong(const char *what, const {real} *got, const {real} *want, size_t size, double allowed)\n{{"
    ):
        e("double scale = 0, error = 0;", "size_t k;", "int bad = 0;")
        with e.block("for (k = 0; k < size; k++) {"):
            e("const double e = fabs((double)got[k] - (double)want[k]);", "const double s = fabs((double)want[k]);")
            e("scale = s > scale ? s : scale;", "error = e > error ? e : error;", "bad |= !(e == e);")
        e("bad |= !(error <= allowed * scale);")
        e('printf("%-8s %s  error %.2e of %.2e\\n", what, bad ? "WRONG" : "right", error, scale);', "return bad;")


def write_case(e: Emitter, name: str, bits: int, case: Vectors) -> int:
    """Writes inputs, answers and room for those of the function; the number of states."""
    real = real_of(bits)
    for way, arrays in (("in", case.inputs), ("out", case.outputs)):
        for k, array in enumerate(arrays):
            write_numbers(e, f"{name}_{way}_{k}", [float(x) for x in np.ravel(array)], bits, real)
    for k, array in enumerate(case.outputs):
        e(f"static {real} {name}_got_{k}[{max(1, array.size)}];")
    return max((len(array) for array in (*case.inputs, *case.outputs)), default=0)


def _write_case(e: Emitter, program: Code | Repeated, facts: Facts, bits: int, case: Vectors, plain: bool) -> None:
    name, code, n = program.name, body_of(program), write_case(e, program.name, bits, case)
    arguments = [str(n), *map(str, case.times), *(f"{name}_in_{k}" for k in range(len(code.inputs)))]
    arguments += [f"{name}_got_{k}" for k in range(len(code.arrays))]
    call = f"{facts.name}_{name}"
    if not plain:
        e(f"static unsigned char {name}_work[{call.upper()}_WORK];")
        call, arguments = f"{call}_with", [*arguments, f"{name}_work"]
    e("")
    with e.block(f"static int Test_{name}(void)\n{{"):
        e(f"int bad = {call}({', '.join(arguments)}) != 0;")
        for k, (array, label) in enumerate(zip(case.outputs, argument_names(code.arrays, "out"), strict=True)):
            what = f'"{name} {label}", {name}_got_{k}, {name}_out_{k}, {array.size}'
            e(f"bad |= wrong({what}, {case.tolerance_of(k)!r});")
        e("return bad;")
