"""Machine code in memory; says what this processor, system and installation can do."""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from condyle.errors import OutOfMemoryError

if TYPE_CHECKING:
    from condyle.runtime._chain import Chain
    from condyle.runtime._tiles import Plan, Repeat, Single


RETURN = b"\xc3"


@cache
def instruction_sets() -> tuple[str, ...]:
    """The instruction sets that machine code may use here, the best one first; none where it cannot run at all."""
    names = tuple(_vector_bytes())
    if not names:
        return ()
    try:
        plan(names[0], 64, RETURN, b"", (), b"", (0, 0, 0, 0, 0, 0))
    except (OSError, ValueError):
        return ()
    return names


def instruction_set_of(vector_bytes: int) -> str | None:
    """The best instruction set that machine code may use here whose vectors have so many bytes."""
    sizes = _vector_bytes()
    return next((name for name in instruction_sets() if sizes[name] == vector_bytes), None)


def _vector_bytes() -> dict[str, int]:
    """The instruction sets of this processor and build, the best one first, and the bytes of a vector of each."""
    try:
        from condyle.runtime._tiles import supported
    except ImportError:
        return {}
    return supported()


def plan(
    isa: str, bits: int, code: bytes, constants: bytes, slots: Sequence[int], values: bytes, numbers: Sequence[int]
) -> Plan:
    """Code and tables in memory; see tiles/plan.h.

    OSError where the system forbids it, ValueError for numbers that do not fit together.
    """
    from condyle.runtime._tiles import Plan

    return Plan(isa, bits, code, constants, array("I", slots).tobytes(), values, array("q", numbers).tobytes())


def single(isa: str, bits: int, code: bytes, constants: bytes, numbers: Sequence[int]) -> Single:
    """The same for one state alone; see tiles/single.h."""
    from condyle.runtime._tiles import Single

    return Single(isa, bits, code, constants + bytes(16), array("q", numbers).tobytes())


def repeat(body: Plan | Single, numbers: Sequence[int]) -> Repeat:
    """The same repeated over time; see tiles/repeat.h."""
    from condyle.runtime._tiles import Repeat

    return Repeat(body, array("q", numbers).tobytes())


def chain(
    isa: str, bits: int, code: bytes, constants: bytes, table: bytes, starts: bytes, words: Sequence[int], work: int
) -> Chain:
    """A chain's code, tables and words in memory, see chain/chain.h; errors as of `plan`."""
    from condyle.runtime._chain import Chain

    return Chain(isa, bits, code, constants, table, starts, array("q", words).tobytes(), work)


# Whether results fit into memory: asked before any of it is touched, since the system promises more than it has.


VAST = 256 << 20
"""Results of fewer bytes are not asked about."""
_MEMINFO = Path("/proc/meminfo")
_GROUP = Path("/sys/fs/cgroup")


def available() -> int | None:
    """Bytes that this process may still take, None where the system does not say."""
    try:
        lines = dict(line.split(":", 1) for line in _MEMINFO.read_text().splitlines() if ":" in line)
        free = sum(1024 * int(lines[name].split()[0]) for name in ("MemAvailable", "SwapFree"))
    except (OSError, KeyError, ValueError):
        return None
    try:
        limit, used = (int((_GROUP / name).read_text()) for name in ("memory.max", "memory.current"))
        return min(free, max(0, limit - used))
    except (OSError, ValueError):  # no group, or one without a limit
        return free


def check(method: str, n: int, count: int, copies: int = 0) -> None:
    """OutOfMemoryError if fresh results of n states, `count` bytes together, and copies of inputs do not fit."""
    if count + copies < VAST:
        return
    free = available()
    if free is None:
        free = sys.maxsize
    if count + copies > free:
        also = f" and copies of inputs that are broadcast or no plain rows {copies / 1e9:.1f} GB" if copies else ""
        raise OutOfMemoryError(
            f"{method}: the results of {n} states take {count / 1e9:.1f} GB{also}, and {free / 1e9:.1f} GB of memory "
            "are free: call it for fewer states at a time, with out= for the results of each part; float32 and packed "
            "arrays take less"
        )
