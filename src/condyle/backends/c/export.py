"""A robot's functions as a C project: sources, header, CMakeLists.txt, a self-checking test, README, names."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from condyle.backends.c.body import write_numbers
from condyle.backends.c.cmake import cmake_file
from condyle.backends.c.emit import (
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
from condyle.backends.c.readme import readme
from condyle.backends.c.target import TARGET
from condyle.backends.common.describe import argument_names, body_of, header
from condyle.backends.common.facts import Facts, Vectors, bits_of
from condyle.backends.common.owned import write_owned
from condyle.backends.common.readme import Coordinates
from condyle.ir.repeated import Repeated
from condyle.ir.sweep import Code
from condyle.text import Emitter


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
    texts["CMakeLists.txt"] = cmake_file(programs, facts)
    texts["README.md"] = readme(programs, facts, real_of(bits), joints, made)
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
        _write_case(e, program, facts, bits, vectors[program.name], generated[program.name].plain)
    e("")
    with e.block("int main(void)\n{"):
        e("int bad = 0;", *(f"bad |= Test_{program.name}();" for program in tested), "return bad;")
    return e.text()


def _write_case(e: Emitter, program: Code | Repeated, facts: Facts, bits: int, case: Vectors, plain: bool) -> None:
    real, name, code = real_of(bits), program.name, body_of(program)
    n = max((len(array) for array in (*case.inputs, *case.outputs)), default=0)
    for way, arrays in (("in", case.inputs), ("out", case.outputs)):
        for k, array in enumerate(arrays):
            write_numbers(e, f"{name}_{way}_{k}", [float(x) for x in np.ravel(array)], bits, real)
    for k, array in enumerate(case.outputs):
        e(f"static {real} {name}_got_{k}[{max(1, array.size)}];")
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
