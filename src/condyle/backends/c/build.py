"""A Program -> a Kernel: emit, compile unless it is in the cache, load."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np

from condyle.backends.c.source import Source, source
from condyle.backends.c.target import TARGET
from condyle.backends.common.facts import Facts, bits_of
from condyle.ir.count import work as work_of
from condyle.ir.loops import COUNT, Code, Give, TimeLoop
from condyle.runtime import cache, trusted_folders
from condyle.runtime.native import Kernel, NativeKernel, Shape, cores, entry_of
from condyle.runtime.toolchain import Compiler, find_compiler, run


def build(program: Code, facts: Facts, dtype: str = "float64") -> Kernel:
    """The compiled function, from the cache if it was built before.

    Raises BuildError if there is no compiler, if it fails, or if files cannot be written or loaded; UnsupportedError
    for a constant that is not finite, or a name that C does not allow.
    """
    bits, compiler = bits_of(dtype), find_compiler()
    text = source(program, facts, bits, split=True, loops=True)
    parts = ["c", str(TARGET.abi), facts.version, compiler.path, compiler.identity, *TARGET.flags, *text.units]
    description = f"{facts.name} {program.name} {dtype} {facts.fingerprint[:12]}"
    made = cache.fetch(parts, description, lambda target: compile_shared(text, compiler, target))
    library = trusted_folders.library(made)
    return _kernel(program, facts, np.dtype(dtype), library, f"C, {compiler.version}")


def compile_shared(text: Source, compiler: Compiler, target: Path) -> None:
    """Writes the shared object `target`; source units are compiled at the same time, then linked."""
    place = target.parent
    names = [f"unit{k}" for k in range(len(text.units))]
    for name, unit in zip(names, text.units, strict=True):
        (place / f"{name}.c").write_text(unit, encoding="ascii")
    flags = list(TARGET.flags)
    if len(names) == 1:
        commands = [[compiler.path, *flags, "-shared", "unit0.c", "-o", target.name, "-lm"]]
    else:
        commands = [[compiler.path, *flags, "-c", f"{name}.c", "-o", f"{name}.o"] for name in names]
    run(commands, place, TARGET.timeout, cores())
    if len(names) > 1:
        objects = [f"{name}.o" for name in names]
        run([[compiler.path, "-shared", *objects, "-o", target.name, "-lm"]], place, TARGET.timeout, 1)
    for name in names:
        (place / f"{name}.c").unlink()
        (place / f"{name}.o").unlink(missing_ok=True)


class CKernel(NativeKernel):
    """A Kernel in a shared object, which also has an entry that repeats it over time."""

    __slots__ = ("_library", "_shape", "_symbol")

    def __init__(
        self, library: ctypes.CDLL, symbol: str, shape: Shape, dtype: np.dtype[np.floating], description: str
    ) -> None:
        entry = entry_of(_address(library, f"{symbol}_strided"), shape, dtype)
        super().__init__(entry, dtype, description, library)
        self._library, self._symbol, self._shape = library, symbol, shape

    def repeated(self, loop: TimeLoop) -> NativeKernel | None:
        """A loop around this kernel: nothing is compiled. None where all states end together."""
        if loop.together:
            return None
        once, numbers = self._shape, _numbers(loop, self._shape)
        more = sum(once.in_sizes) + sum(once.out_sizes[give.output] for give in loop.gives if give.summed)
        shape = replace(
            once,
            in_sizes=tuple(x * loop.rows(take.every) for take, x in zip(loop.takes, once.in_sizes, strict=True)),
            out_sizes=tuple(_size(give, once) * loop.rows(give.every) for give in loop.gives),
            work_bytes=once.work_bytes + more * once.lanes * self.dtype.itemsize,
            state_ns=once.state_ns * loop.expected,
        )
        address = _address(self._library, f"{self._symbol}_repeat")
        entry = entry_of(address, shape, self.dtype, ctypes.addressof(numbers))
        said = f"{'at most ' if loop.until >= 0 else ''}{loop.steps} steps a tile, {self.description}"
        return NativeKernel(entry, self.dtype, said, (self._library, numbers))


def _numbers(loop: TimeLoop, shape: Shape) -> ctypes.Array[ctypes.c_ssize_t]:
    """The loop as numbers for support/repeat.h, with contiguous arrays."""
    found = [loop.steps, int(loop.backwards), len(loop.gives), loop.until]
    for take, size in zip(loop.takes, shape.in_sizes, strict=True):
        found += [take.carried, take.every, size]
    for give in loop.gives:
        found += [give.output, give.every, int(give.summed), _size(give, shape)]
    return (ctypes.c_ssize_t * len(found))(*found)


def _size(give: Give, once: Shape) -> int:
    return 1 if give.output == COUNT else once.out_sizes[give.output]


def _address(library: ctypes.CDLL, symbol: str) -> int:
    return ctypes.cast(library[symbol], ctypes.c_void_p).value or 0


def _kernel(
    program: Code, facts: Facts, dtype: np.dtype[np.floating], library: ctypes.CDLL, description: str
) -> CKernel:
    symbol = f"{facts.name}_{program.name}"
    work = library[f"{symbol}_work"]
    work.restype = ctypes.c_size_t
    lanes = ctypes.c_uint.in_dll(library, f"{facts.name}_lanes").value
    in_sizes = tuple(array.size for array in program.inputs)
    out_sizes = tuple(array.size for array in program.arrays)
    shape = Shape.estimated(in_sizes, out_sizes, lanes, int(work()), work_of(program))
    return CKernel(library, symbol, shape, dtype, description)
