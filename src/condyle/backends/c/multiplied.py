"""A Program and products of its matrices as C."""

from __future__ import annotations

from dataclasses import replace

from condyle.backends.c.body import Body, straight, write_table
from condyle.backends.c.rolled import write_product
from condyle.backends.c.target import Target
from condyle.backends.common.chunks import lower
from condyle.backends.common.matrices import matrices
from condyle.ir.sweep import Multiplied
from condyle.text import Emitter


def multiplied_body(code: Multiplied, bits: int, target: Target) -> Body:
    """The Program's chunks; then `NAME_tile` copies its matrices side by side and multiplies them."""
    low = lower(code.head, target.cut)
    made = matrices(code, low, low.size)

    def behind(tables: Emitter, e: Emitter) -> None:
        e("size_t i;")
        for k, (slots, base, _) in enumerate(made.copies):
            write_table(tables, f"{code.name}_matrix{k}", slots)
            with e.block(f"for (i = 0; i < {len(slots)}; i++) {{"):
                e(f"w[{base} + i] = w[{code.name}_matrix{k}[i]];")
        for k, product in enumerate(code.products):
            names = (product.left, product.right, product.result)
            write_product(tables, e, product, f"{code.name}_rows{k}", *(made.bases[name] for name in names))

    return replace(straight(low, bits, behind), tables=made.tables, size=made.size)
