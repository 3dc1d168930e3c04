"""Archives of arrays q, v and tau that no reader may trust."""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np


def packed(path: Path, rows: int, there: int = 4, method: int = zipfile.ZIP_DEFLATED) -> bytearray:
    """An archive of arrays that say they have so many rows."""
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(head, {"descr": "<f8", "fortran_order": False, "shape": (rows, 3)})
    with zipfile.ZipFile(path, "w", method) as archive:
        for name in ("q", "v", "tau"):
            archive.writestr(f"{name}.npy", head.getvalue() + np.zeros((there, 3)).tobytes())
    return bytearray(path.read_bytes())


def bad_archives(path: Path) -> Iterator[bytearray]:
    """Damaged, encrypted, of arrays larger than memory, of arrays that end too early. path: written on the way."""
    damaged = packed(path, 4)
    start = damaged.find(b"q.npy") + 10
    damaged[start : start + 20] = b"\xff" * 20
    yield damaged
    encrypted = packed(path, 4, method=zipfile.ZIP_STORED)
    for mark, flags in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        for found in re.finditer(re.escape(mark), bytes(encrypted)):
            encrypted[found.start() + flags] |= 1
    yield encrypted
    yield packed(path, 10**13)
    yield packed(path, 10)
