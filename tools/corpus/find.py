"""Which files are tried, and in which ways."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container
from dataclasses import dataclass
from pathlib import Path

VARIANTS = {"urdf": ("fixed", "floating"), "mjcf": ("refuse", "ignore")}
ALL = tuple(variant for two in VARIANTS.values() for variant in two)
_START = re.compile(rb"<\s*([A-Za-z_:][\w:.-]*)")
_HIDDEN = re.compile(rb"<!--.*?-->|<\?.*?\?>|<!DOCTYPE[^>]*>", re.DOTALL)


Record = dict[str, object]


@dataclass(frozen=True)
class How:
    """What is asked of every case; seconds and memory [bytes] are limits of its process.

    most, cpu_most: robots with more degrees of freedom are not compared (on the CPU). assets: folders that MJCF files
    may use besides their own.
    """

    states: int = 3
    snap: float = 0.0
    most: int = 400
    cpu_most: int = 60
    assets: tuple[str, ...] = ()
    seconds: float = 300.0
    memory: int = 8 << 30


@dataclass(frozen=True)
class Case:
    """One file, loaded in one way. source: the first folder below the one that was searched."""

    path: Path
    name: str
    source: str
    format: str
    variant: str


def cases(folder: Path, only: str = "", every: int = 1, variants: Container[str] = ALL) -> list[Case]:
    """Of the URDF and MJCF files below a folder whose path contains `only`, every n-th of each source and format."""
    found: list[Case] = []
    seen: Counter[tuple[str, str]] = Counter()
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        format = _format(path) if path.is_file() and only in name else None
        if format:
            source = name.partition("/")[0] if "/" in name else folder.name
            taken = seen[source, format] % every == 0
            seen[source, format] += 1
            mine = [variant for variant in VARIANTS[format] if taken and variant in variants]
            found += [Case(path, name, source, format, variant) for variant in mine]
    return found


def _format(path: Path) -> str | None:
    """By the ending; .xml is MJCF if its root element says so."""
    if path.suffix == ".urdf":
        return "urdf"
    if path.suffix not in (".xml", ".mjcf"):
        return None
    start = _START.search(_HIDDEN.sub(b"", path.read_bytes()))
    return "mjcf" if start and start[1] == b"mujoco" else None
