"""Matrices of pairs -> PTX: every entry is computed from the records of its row and its column."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.backends.cuda.parts import Part
from condyle.backends.cuda.target import TARGET
from condyle.ir.link_parallel import Pairs
from condyle.ir.program import Array, Program
from condyle.links.cuda.entries import Entries
from condyle.links.cuda.stage import write_stage


def paired(pairs: Pairs, record: Array, outputs: Sequence[Array], bits: int) -> Part:
    """The launch that computes matrices from records."""
    made = Entries(f"condyle_{pairs.name}_pairs", (record,), outputs, bits, TARGET)

    def body() -> None:
        _related(made, pairs)
        _stage(made, pairs.lower, "%lower", "BESIDE")
        _stage(made, pairs.upper, "%upper", "DONE")
        if pairs.diagonal >= 0:
            more = made.fresh()
            made.e("setp.eq.u32 %lower, %r, %c;", f"ld.global.nc.{made.f} {more}, [%row+{pairs.diagonal * made.item}];")
            made.e(f"@%lower add.rn.{made.f} %x0, %x0, {more};")

    return made.part(body, np.array(pairs.spans, "<u4").tobytes())


def _related(entries: Entries, pairs: Pairs) -> None:
    """Addresses of both records, and whether one's joint is an ancestor of the other's (%lower, %upper)."""
    e = entries.e
    e(
        ".reg .b64 %row, %column;",
        ".reg .b32 %first_r, %last_r, %first_c, %last_c;",
        ".reg .pred %lower, %upper, %also, %own;",
    )
    for of in "rc":
        e(f"mul.wide.u32 %a, %{of}, 8;", "add.u64 %a, %at, %a;")
        e(f"ld.global.nc.u32 %first_{of}, [%a];", f"ld.global.nc.u32 %last_{of}, [%a+4];")
    e("setp.ge.u32 %lower, %first_r, %first_c;", "setp.ge.u32 %also, %last_c, %first_r;")
    e("and.pred %lower, %lower, %also;")
    e("setp.lt.u32 %upper, %first_r, %first_c;", "setp.ge.u32 %also, %last_r, %first_c;")
    e("and.pred %upper, %upper, %also;")
    if pairs.diagonal >= 0:  # both triangles of one joint's entries by the same formula
        e("setp.eq.u32 %also, %first_r, %first_c;", "setp.lt.u32 %own, %r, %c;", "and.pred %own, %own, %also;")
        e("xor.pred %lower, %lower, %own;", "or.pred %upper, %upper, %own;")
    for of, name in (("r", "row"), ("c", "column")):
        e(f"mul.wide.u32 %a, %{of}, {pairs.width * entries.item};", f"add.u64 %{name}, %in0, %a;")


def _stage(entries: Entries, stage: Program, where: str, beyond: str) -> None:
    def get(var: str, entry: int) -> str:
        value = entries.fresh()
        entries.e(f"ld.global.nc.{entries.f} {value}, [%{var}+{entry * entries.item}];")
        return value

    def put(var: str, entry: int, value: str) -> None:
        entries.e(f"mov.{entries.f} %x{var}, {value};")

    entries.e(f"@!{where} bra {beyond};")
    write_stage(entries.e, stage, entries.bits, entries.fresh, get, put)
    entries.e(f"{beyond}:")
