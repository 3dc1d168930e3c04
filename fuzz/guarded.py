"""Arrays between two protected pages: reading or writing beyond the array's pages ends the process with a signal."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np

PAGE = mmap.PAGESIZE
PATTERN = 0xA5
_NONE = 0  # PROT_NONE
_libc = ctypes.CDLL(None, use_errno=True)
_libc.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int


class Guarded:
    """Memory for one array; `array` is its bytes, at the end of the pages or at their beginning.

    The rest of the pages is filled with a pattern, which `check` verifies.
    """

    def __init__(self, size: int, at_end: bool) -> None:
        inner = max(1, -(-size // PAGE)) * PAGE
        self._map = mmap.mmap(-1, inner + 2 * PAGE)
        self._begin = PAGE + (inner - size if at_end else 0)
        self._inner = inner
        whole = np.frombuffer(self._map, np.uint8)
        whole[PAGE : PAGE + inner] = PATTERN
        self._whole = whole
        self.array = whole[self._begin : self._begin + size]
        first = whole.ctypes.data
        for page in (first, first + PAGE + inner):
            if _libc.mprotect(page, PAGE, _NONE) != 0:
                raise OSError(ctypes.get_errno(), "mprotect")

    def check(self) -> None:
        """Raises AssertionError if something was written beside the array."""
        before = self._whole[PAGE : self._begin]
        after = self._whole[self._begin + len(self.array) : PAGE + self._inner]
        assert (before == PATTERN).all() and (after == PATTERN).all(), "bytes beside an array were written"


def guarded(shape: tuple[int, ...], dtype: np.dtype[np.generic], at_end: bool) -> tuple[np.ndarray, Guarded]:
    """An array in C order in guarded memory, filled with the pattern, and the memory."""
    memory = Guarded(int(np.prod(shape, dtype=np.int64)) * dtype.itemsize, at_end)
    return memory.array.view(dtype).reshape(shape), memory
