"""A robot's functions as a C project: sources, header, CMakeLists.txt, a self-checking test, README, names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from condyle.backends.c.body import write_numbers
from condyle.backends.c.emit import (
    fact_symbols,
    plain_head,
    real_of,
    source,
    strided_head,
    write_facts,
    write_preamble,
)
from condyle.backends.c.readme import readme
from condyle.backends.c.target import TARGET
from condyle.backends.common.describe import argument_names, header
from condyle.backends.common.facts import Facts, Vectors, bits_of
from condyle.backends.common.owned import write_owned
from condyle.backends.common.readme import Coordinates
from condyle.ir.sweep import Code
from condyle.text import Emitter


def export_c(
    programs: Sequence[Code],
    facts: Facts,
    out_dir: Path,
    vectors: Mapping[str, Vectors],
    robot: Mapping[str, object],
    joints: Sequence[Coordinates],
    dtype: str = "float64",
) -> list[Path]:
    """Writes NAME.h, NAME_FN.c, NAME_facts.c, CMakeLists.txt, test.c, README.md, robot.json and
    the manifest; returns the files.

    Only files that an export wrote are replaced: see `write_owned`. vectors: by Program name, those given are
    tested. robot: names for people, never in code; joints: their order, for the README. Raises UnsupportedError for
    what C cannot say.
    """
    bits, name = bits_of(dtype), facts.name
    texts = {f"{name}.h": _header_file(programs, facts, bits), f"{name}_facts.c": _facts_file(facts, bits)}
    for program in programs:
        texts[f"{name}_{program.name}.c"] = source(program, facts, bits, constants=False).main
    texts["test.c"] = _test_file(programs, facts, bits, vectors)
    texts["CMakeLists.txt"] = _cmake_file(programs, facts)
    texts["README.md"] = readme(programs, facts, real_of(bits), joints)
    texts["robot.json"] = json.dumps(robot, indent=1, sort_keys=True, allow_nan=False) + "\n"
    return write_owned(out_dir, texts)


def _header_file(programs: Sequence[Code], facts: Facts, bits: int) -> str:
    e = Emitter()
    guard = f"CONDYLE_{facts.name.upper()}_H"
    e(f"#ifndef {guard}", f"#define {guard}", "#include <stddef.h>", "#ifdef __cplusplus", 'extern "C" {', "#endif", "")
    sizes = f"{facts.name.upper()}_NQ = {facts.nq}, {facts.name.upper()}_NV = {facts.nv}"
    e("/* for arrays of your own; what was linked says the same below */", f"enum {{ {sizes} }};")
    e(*(f"extern const {head};" for head, _ in fact_symbols(facts)))
    for program in programs:
        symbol = f"{facts.name}_{program.name}"
        e("", *header(program, facts, f"float{bits}", TARGET.abi))
        e("/* Contiguous arrays, row after row. Returns 0, or -1 when there is no memory. */")
        e(plain_head(program, symbol, real_of(bits)) + ";")
        e("/* Rows `stride` numbers apart (0: one row for every state); work: work() bytes, 64-byte aligned. */")
        e(strided_head(symbol, real_of(bits)) + ";", f"size_t {symbol}_work(void);")
    e("", "#ifdef __cplusplus", "}", "#endif", "#endif")
    return e.text()


def _facts_file(facts: Facts, bits: int) -> str:
    e = Emitter()
    write_preamble(e, bits, apart=False)
    write_facts(e, facts)
    return e.text()


def _test_file(programs: Sequence[Code], facts: Facts, bits: int, vectors: Mapping[str, Vectors]) -> str:
    real = real_of(bits)
    e = Emitter()
    # functions have a capital letter, which no exported name has: NAME_FN may be anything else
    e("/* Calls every function on states with known answers; exit status 0 when all agree. */")
    e(f'#include "{facts.name}.h"', "#include <math.h>", "#include <stdio.h>", "")
    with e.block(
        f"static int wrong(const char *what, const {real} *got, const {real} *want, size_t size, double allowed)\n{{"
    ):
        e("double scale = 0, error = 0;", "size_t k;", "int bad = 0;")
        with e.block("for (k = 0; k < size; k++) {"):
            e("const double e = fabs((double)got[k] - (double)want[k]);", "const double s = fabs((double)want[k]);")
            e("scale = s > scale ? s : scale;", "error = e > error ? e : error;", "bad |= !(e == e);")
        e("bad |= !(error <= allowed * scale);")
        e('printf("%-8s %s  error %.2e of %.2e\\n", what, bad ? "WRONG" : "right", error, scale);', "return bad;")
    tested = [program for program in programs if program.name in vectors]
    for program in tested:
        _write_case(e, program, facts, bits, vectors[program.name])
    e("")
    with e.block("int main(void)\n{"):
        e("int bad = 0;", *(f"bad |= Test_{program.name}();" for program in tested), "return bad;")
    return e.text()


def _write_case(e: Emitter, program: Code, facts: Facts, bits: int, case: Vectors) -> None:
    real, name = real_of(bits), program.name
    n = max((len(array) for array in (*case.inputs, *case.outputs)), default=0)
    for way, arrays in (("in", case.inputs), ("out", case.outputs)):
        for k, array in enumerate(arrays):
            write_numbers(e, f"{name}_{way}_{k}", [float(x) for x in np.ravel(array)], bits, real)
    for k, array in enumerate(program.arrays):
        e(f"static {real} {name}_got_{k}[{max(1, n * array.size)}];")
    e("")
    arguments = [f"{name}_in_{k}" for k in range(len(program.inputs))]
    arguments += [f"{name}_got_{k}" for k in range(len(program.arrays))]
    with e.block(f"static int Test_{name}(void)\n{{"):
        e(f"int bad = {facts.name}_{name}({', '.join([str(n), *arguments])}) != 0;")
        for k, (array, label) in enumerate(zip(program.arrays, argument_names(program.arrays, "out"), strict=True)):
            what = f'"{name} {label}", {name}_got_{k}, {name}_out_{k}, {n * array.size}'
            e(f"bad |= wrong({what}, {case.tolerance!r});")
        e("return bad;")


def _cmake_file(programs: Sequence[Code], facts: Facts) -> str:
    library = f"condyle_{facts.name}"
    sources = " ".join(f"{facts.name}_{part}.c" for part in ("facts", *(program.name for program in programs)))
    e = Emitter()
    e("cmake_minimum_required(VERSION 3.10)", f"project({library} C)", "")
    e(f"add_library({library} STATIC {sources})")
    e(f"target_include_directories({library} PUBLIC ${{CMAKE_CURRENT_SOURCE_DIR}})")
    e(f"set_target_properties({library} PROPERTIES C_STANDARD 99 POSITION_INDEPENDENT_CODE ON)")
    e(f"target_link_libraries({library} PUBLIC m)", "")
    e("# a * b + c as one instruction where the machine has it; OFF builds for any machine of this kind")
    e('option(CONDYLE_NATIVE "Use every instruction of this machine" ON)')
    with e.block('if(CMAKE_C_COMPILER_ID MATCHES "GNU|Clang")', "endif()"):
        e(f"target_compile_options({library} PRIVATE -O2 -ffp-contract=fast -fno-math-errno)")
        with e.block("if(CONDYLE_NATIVE)", "endif()"):
            e(f"target_compile_options({library} PRIVATE -march=native)")
    e("", "enable_testing()", f"add_executable({library}_test test.c)")
    e(f"set_target_properties({library}_test PROPERTIES C_STANDARD 99)")
    e(f"target_link_libraries({library}_test PRIVATE {library})")
    e(f"add_test(NAME {library}_test COMMAND {library}_test)")
    return e.text()
