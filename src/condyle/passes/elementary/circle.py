"""Sine and cosine on |r| <= pi/4: minimax polynomials for all targets; each target has its own range reduction.

(sin r - r) / r^3 and (cos r - 1 + r^2 / 2) / r^4 in r^2, the highest power first.
"""

from __future__ import annotations

from condyle.passes.elementary.values import numbers

SINE = {
    64: numbers(
        "0x1.5d8fa457dab33p-33 -0x1.ae5e59fa1e39cp-26 0x1.71de356718acep-19",
        "-0x1.a01a019bfd203p-13 0x1.111111110f7cap-7 -0x1.5555555555548p-3",
    ),
    32: numbers("-0x1.994388p-13 0x1.11073ap-7 -0x1.555546p-3"),
}
COSINE = {
    64: numbers(
        "-0x1.8fae9d21afe3cp-37 0x1.1ee9ebea890e4p-29 -0x1.27e4f809f2b27p-22",
        "0x1.a01a019cb1c09p-16 -0x1.6c16c16c1517ep-10 0x1.555555555554cp-5",
    ),
    32: numbers("0x1.9a020cp-16 -0x1.6c0c8ap-10 0x1.55554ap-5"),
}
ROUND = {64: float.fromhex("0x1.8p+52"), 32: float.fromhex("0x1.8p+23")}
"""x + ROUND has the integer nearest x in its lowest bits."""
