"""Sums and clamps as statements of a clocked block. A simulator evaluates them in their own phase only.

One instance an operation would be the same hardware, and eight times the work of a simulator.
"""

from __future__ import annotations

from condyle.backends.fpga.adders import Operand, adder_bits


def added(a: Operand, b: Operand, sub: bool = False) -> str:
    """a + b, or a - b: a bit wider than the operands."""
    width = adder_bits(a, b)
    return f"{a.aligned(width)} {'-' if sub else '+'} {b.aligned(width)}"


def clamped(x: Operand, width: int, target: str, over: str) -> list[str]:
    """x / 2^right, bits below dropped, clamped to so many bits. target: the assignment's left (`w12 <=`); over: a
    statement for when it was clamped."""
    top, low, high = x.width - 1, max(0, x.right), x.right + width - 1
    zeros = f", {-x.right}'b0" if x.right < 0 else ""
    bits = top - high + 1
    if bits < 2:
        low = min(low, top)
        more = width - (top - low + 1) - max(0, -x.right)
        spare = f"{{{more}{{{x.text}[{top}]}}}}, " if more else ""
        return [f"{target} {{{spare}{x.text}[{top}:{low}]{zeros}}};"]
    upper = f"{x.text}[{top}:{high}]"
    value = f"{{{x.text}[{high}:{low}]{zeros}}}"
    fitting = f"{bits}'d0, {bits}'d{(1 << bits) - 1}"
    if high < 0:
        fitting, upper, value = "0", x.text, f"{width}'d0"
    sign = f"{x.text}[{top}]"
    limit = f"{{{sign}, {{{width - 1}{{~{sign}}}}}}}"
    return [
        f"case ({upper})",
        f"    {fitting}: {target} {value};",
        f"    default: begin {target} {limit}; {over} end",
        "endcase",
    ]
