"""What counts as a change of a text, and what does not."""

from __future__ import annotations

import pytest

from tools.guard.worker.normal import normal

LOOP = """/* rows */
static const double speeds[2] = {0x1.8p+1, 2.0};
for (int i = 0; i < 2; ++i)
    w[i] = fma(speeds[i], t12, w[i]);
"""
KERNEL = """.visible .entry condyle_fd(
.param .u32 n
)
{
mul.f64 %v3, %v1, 0d3FF0000000000000;
@%p bra END;
END: ret;
}
"""
MODULE = """// words
module robot_mass(input clock, output reg [7:0] w12);
always @(posedge clock) w12 <= 8'h3f + $signed(d0);
endmodule
"""
TEXTS = {"c": LOOP, "ptx": KERNEL, "verilog": MODULE}


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("c", "speeds", "rates"),
        ("c", "/* rows */", "/* lines\n of tables */"),
        ("c", "\n    w[i]", " w[ i ]"),
        ("c", "t12", "t13"),
        ("ptx", "condyle_fd", "condyle_forward"),
        ("ptx", "%v3", "%answer"),
        ("ptx", "END", "LAST"),
        ("verilog", "robot_mass", "robot_inertia"),
        ("verilog", "w12", "w_12"),
        ("verilog", "// words", "// other words 1.2.3"),
    ],
)
def test_names_and_comments_are_no_change(language: str, old: str, new: str) -> None:
    text = TEXTS[language]
    assert old in text
    assert normal(text, language, "1.2.3") == normal(text.replace(old, new), language, "1.2.3")


@pytest.mark.parametrize(
    ("language", "old", "new"),
    [
        ("c", "0x1.8p+1", "0x1.8p+2"),
        ("c", "0x1.8p+1", "0x1.9p+1"),
        ("c", "fma", "sin"),
        ("c", "double", "float"),
        ("c", "speeds[i], t12", "t12, speeds[i]"),
        ("c", "fma(speeds[i], t12", "fma(speeds[i], speeds"),
        ("c", "++i", "--i"),
        ("ptx", "mul.f64", "add.f64"),
        ("ptx", "mul.f64", "mul.f32"),
        ("ptx", "%v1", "%v3"),
        ("ptx", "0d3FF0000000000000", "0d3FF0000000000001"),
        ("ptx", "ret", "exit"),
        ("ptx", "@%p", "@!%p"),
        ("verilog", "posedge", "negedge"),
        ("verilog", "8'h3f", "8'h3e"),
        ("verilog", "7:0", "6:0"),
        ("verilog", "$signed", "$unsigned"),
    ],
)
def test_numbers_operations_and_order_are_changes(language: str, old: str, new: str) -> None:
    text = TEXTS[language]
    assert old in text
    assert normal(text, language, "1.2.3") != normal(text.replace(old, new), language, "1.2.3")


def test_the_version_is_no_change() -> None:
    older, newer = ('const char v[] = "1.2.3";', 'const char v[] = "1.10.0";')
    assert normal(older, "c", "1.2.3") == normal(newer, "c", "1.10.0")
