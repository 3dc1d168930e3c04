"""A Program and products of its matrices to machine code: kernels, then the driver's loops (tiles/loops.h)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from condyle.backends.common.matrices import matrices
from condyle.backends.cpu.assemble import Assembled, full_layouts, port_numbers, straight
from condyle.backends.cpu.loops import COPY, product_words
from condyle.backends.cpu.target import TARGET, Isa, Target
from condyle.ir.sweep import Multiplied
from condyle.runtime.layout import Layouts

ORDERS = ("tips", "arrays")
"""For a long head: blocks of columns are for products, which are not in it."""


def assemble_multiplied(
    code: Multiplied, isa: Isa, bits: int, target: Target = TARGET, layouts: Layouts | None = None
) -> Assembled:
    """Machine code of the head, which has no scalar form here. layouts, errors: as `assemble`."""
    work = straight(code.head, isa, bits, replace(target, huge=ORDERS))
    made, slots = matrices(code, work.low, work.size), work.slots
    words = [len(code.products[0].rows), 1, made.size, 0]
    zero, cleared = work.low.zero, list[int]()
    for copy in made.copies:
        pairs = [(slot, copy.base + k) for k, slot in enumerate(copy.slots) if k in copy.read or slot != zero]
        if not copy.read:  # nothing else comes there, so zeros stay
            cleared += (copy.base + k for k, slot in enumerate(copy.slots) if slot == zero)
        words += (COPY, len(slots), 2 * len(pairs))
        slots += (number for pair in pairs for number in pair)
    for product in code.products:
        bases = [made.bases[name] for name in (product.left, product.right, product.result)]
        words += product_words(product, bases, slots)
    layouts = layouts or full_layouts(code, isa.lanes(bits))
    tables = [  # products of zeros may be -0.0
        np.where(np.array(kept.places) == kept.columns, zero, table).tolist()
        for table, kept in zip(made.tables, layouts[1], strict=True)
    ]
    ports = port_numbers(work.low.bases, tables, zero, layouts, slots)
    return work.assembled(ports, made.size, words, isa, bits, None, cleared)
