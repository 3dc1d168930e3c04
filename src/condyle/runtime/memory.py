"""Whether results fit into memory: asked before any of it is touched, since the system promises more than it has."""

from __future__ import annotations

import sys
from pathlib import Path

from condyle.errors import OutOfMemoryError

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
