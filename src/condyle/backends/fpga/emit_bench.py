"""The self-checking test bench: tasks and answers from files, stalls at random, every bit compared."""

from __future__ import annotations

from pathlib import Path

from condyle.backends.fpga.accelerator import TAG_BITS
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.emit_wires import field_width, result_width
from condyle.text import Emitter

TASKS, ANSWERS = "tasks.hex", "answers.hex"


_SUPPORT = Path(__file__).parent / "support"


def support(name: str) -> str:
    """A file that generated ones are, or are made of."""
    return (_SUPPORT / name).read_text(encoding="ascii")


def bench_widths(acc: Accelerator) -> tuple[int, int]:
    """Bits of a task's and of an answer's data."""
    u = max(field_width(acc, "a"), field_width(acc, "tau"))
    return u + sum(field_width(acc, name) for name in ("q", "v", "f_ext", "Minv")), result_width(acc)


def emit_bench(acc: Accelerator, prefix: str, n: int) -> str:
    """The bench of n tasks; prints `right: ...` or WRONG and what."""
    task, answer = bench_widths(acc)
    code = acc.plan.id.code_bits
    padded = -(-(1 + code + answer) // 32) * 32
    e = Emitter()
    e(f"module {prefix}_bench;")
    e(f"    localparam N = {n}, F = {code}, G = {TAG_BITS}, T = {task}, A = {answer}, P = {padded};")
    return e.text() + support("bench.v").replace("TOP", prefix) + "endmodule\n"
