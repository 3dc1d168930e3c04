"""Numbers as the tables of the pages print them."""

from __future__ import annotations


def digits(x: float) -> str:
    """Three significant digits without an exponent: 1450, 35.3, 0.123."""
    return f"{float(f'{x:.3g}'):.15g}"
