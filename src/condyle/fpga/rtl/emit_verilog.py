"""All Verilog of an accelerator: operators, tables, arrays with their stages, the top, the bench."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_array import ArrayEmitter
from condyle.fpga.rtl.emit_top import emit_top
from condyle.fpga.rtl.header import RETURNED_BITS
from condyle.fpga.rtl.operators import TWO_PI_INVERSE, reciprocal_table, sincos_table
from condyle.fpga.rtl.stream import bus, laid, result_width, width
from condyle.fpga.rtl.target import Device, Format, Integers
from condyle.fpga.rtl.vectors import pack

TASKS, ANSWERS = "tasks.hex", "answers.hex"
TIMESCALE = "`timescale 1ns/1ps\n"
"""In every file: a tool takes the unit of a file without it from the file before, or refuses."""
_SUPPORT = Path(__file__).parent / "support"
NAMES = """\
// Names: w12 is the word of operation 12. w12_3 is its third copy; each copy is an interval later. l12_3 is the delay
// line up to that copy. u0 is a unit, such as a multiplier; u0_a and u0_b are its factors, u0_p11 is its product for
// operation 11.
// x12 is a sum before its clamp. d12 is a word of the task. over[7]: the seventh clamp of a stage has clamped.
// phase counts the cycles of an interval; phase0, phase1 are copies of it.
"""
STAGES = {
    "dynamics": "// Stages: Rf, Rb are the forward and backward step of inverse dynamics, Df, Db those of its\n"
    "// derivatives. The number is the joint, from 0.\n",
    "mass": "// Stages: Mb is the backward step of the mass matrix; the number is the joint, from 0. M has the\n"
    "// factors of the mass matrix and its inverse.\n",
}


def operators(device: Device) -> str:
    """The operator modules with their constants and tables."""
    sine, cosine, slope, fall = sincos_table()
    words = {"`FX_TURN_HIGH": TWO_PI_INVERSE >> 17, "`FX_TURN_LOW": TWO_PI_INVERSE & 0x1FFFF}
    rows = _rom((fall, 18), (slope, 18), (cosine, 21), (sine, 21))
    words |= {"`FX_SINCOS": rows, "`FX_RECIPROCAL": _rom((reciprocal_table(), 17))}
    return filled("operators.v", words | {"`FX_FACTOR": device.factors[0]})


def _rom(*columns: tuple[Integers, int]) -> str:
    """A table as assignments, so that no tool has to read another file. columns: the lowest first, with their bits."""
    fields = laid((Word("rom", n), Format(bits, 0)) for n, (_, bits) in enumerate(columns))
    given = {field.word: column for field, (column, _) in zip(fields, columns, strict=True)}
    rows = pack(fields, given, len(columns[0][0]))
    return "\n".join(f"        rom[{k}] = {width(fields)}'h{row:x};" for k, row in enumerate(rows))


def sources(acc: Accelerator, prefix: str, header: str) -> dict[str, str]:
    """File name to text: NAME_ARRAY.v with all stages of an array, NAME.v and fx_operators.v."""
    texts = {"fx_operators.v": operators(acc.device)}
    for name, array in acc.arrays.items():
        about = header + TIMESCALE + NAMES + STAGES.get(name, "")
        texts[f"{prefix}_{name}.v"] = about + ArrayEmitter(acc.plan, array, prefix).text()
    codes = ", ".join(f"{task.codes[0]} {name}" for name, task in acc.plan.tasks.items())
    about = f"// in_function: {codes}. README.md lists the bits of in_data and out_data.\n"
    texts[f"{prefix}.v"] = header + TIMESCALE + about + emit_top(acc, prefix)
    return texts


def support(name: str) -> str:
    """A file of support/, which is copied or filled in."""
    return (_SUPPORT / name).read_text(encoding="ascii")


def filled(name: str, words: Mapping[str, object]) -> str:
    """Such a file with these words replaced."""
    text = support(name)
    for word, value in words.items():
        text = text.replace(word, str(value))
    return text


def emit_bench(acc: Accelerator, prefix: str, n: int) -> str:
    """The bench of n tasks. It prints `right: ...` or `WRONG ...`."""
    code, task, answer = acc.plan.id.code_bits, width(bus(acc.plan)), result_width(acc.plan)
    compared = -(-(2 + code + answer) // 32) * 32
    sizes = f"N = {n}, F = {code}, G = {RETURNED_BITS}, T = {task}, A = {answer}, P = {compared}"
    return bench_text("bench.v", f"{prefix}_bench", sizes, {"TOP": prefix, "DUMP": "sim.vcd"})


def bench_text(file: str, name: str, sizes: str, words: Mapping[str, object]) -> str:
    """A bench with the options of all benches."""
    body = filled("bench_options.v", words) + filled(file, words)
    return f"{TIMESCALE}module {name};\n    localparam {sizes};\n{body}endmodule\n"
