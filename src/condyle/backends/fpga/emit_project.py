"""All Verilog of an accelerator: operators, tables, arrays with their stages, the top, the bench."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_array import emit_array
from condyle.backends.fpga.emit_top import emit_top
from condyle.backends.fpga.operators import TWO_PI_INVERSE, reciprocal_table, sincos_table
from condyle.backends.fpga.stream import bus, result_width, width
from condyle.backends.fpga.target import Device
from condyle.text import Emitter

TASKS, ANSWERS = "tasks.hex", "answers.hex"
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
    text = support("operators.v")
    constants = {"`FX_TURN_HIGH": str(TWO_PI_INVERSE >> 17), "`FX_TURN_LOW": str(TWO_PI_INVERSE & 0x1FFFF)}
    constants |= {"`FX_SINCOS": _rom(_sincos_rows(), 78), "`FX_RECIPROCAL": _rom(reciprocal_table().tolist(), 17)}
    constants["`FX_FACTOR"] = str(device.factors[0])
    for name, value in constants.items():
        text = text.replace(name, value)
    return text


def _rom(rows: Sequence[int], width: int) -> str:
    """A table as assignments, so that no tool has to read another file."""
    return "\n".join(f"        rom[{k}] = {width}'h{row:x};" for k, row in enumerate(rows))


def _sincos_rows() -> list[int]:
    """Rows with sine, cosine (21 bits each), 2 pi cosine, 2 pi sine (18 each)."""
    rows: list[int] = []
    for sine, cosine, slope, fall in zip(*(table.tolist() for table in sincos_table()), strict=True):
        row = 0
        for value, bits in ((sine, 21), (cosine, 21), (slope, 18), (fall, 18)):
            row = row << bits | (value & ((1 << bits) - 1))
        rows.append(row)
    return rows


def sources(acc: Accelerator, prefix: str, header: str) -> dict[str, str]:
    """File name to text: NAME_ARRAY.v with all stages of an array, NAME.v and fx_operators.v."""
    texts = {"fx_operators.v": operators(acc.device)}
    for name, array in acc.arrays.items():
        about = header + NAMES + STAGES.get(name, "")
        texts[f"{prefix}_{name}.v"] = about + "\n".join(text for _, text in emit_array(array, prefix))
    codes = ", ".join(f"{task.codes[0]} {name}" for name, task in acc.plan.tasks.items())
    about = f"// in_function: {codes}. README.md lists the bits of in_data and out_data.\n"
    texts[f"{prefix}.v"] = header + about + emit_top(acc, prefix)
    return texts


def support(name: str) -> str:
    """A file of support/, which is copied or filled in."""
    return (_SUPPORT / name).read_text(encoding="ascii")


def emit_bench(acc: Accelerator, prefix: str, n: int) -> str:
    """The bench of n tasks. It prints `right: ...` or `WRONG ...`."""
    code, task, answer = acc.plan.id.code_bits, width(bus(acc.plan)), result_width(acc.plan)
    padded = -(-(2 + code + answer) // 32) * 32
    e = Emitter()
    e(f"module {prefix}_bench;")
    e(f"    localparam N = {n}, F = {code}, G = {TAG_BITS}, T = {task}, A = {answer}, P = {padded};")
    return e.text() + support("bench.v").replace("TOP", prefix) + "endmodule\n"
