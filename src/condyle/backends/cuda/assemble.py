"""Texts -> machine code through the cache; of several texts the one that the assembler does best with."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from condyle.backends.cuda.link import Usage, link, link_version
from condyle.backends.cuda.parts import Part, Text
from condyle.runtime import cache


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code of one kernel, the text that it was made from, and what it uses."""

    text: Text
    cubin: bytes
    usage: Usage


def assemble(part: Part, arch: str) -> Code:
    """The first text that the assembler spills nothing of, else the one that moves the fewest bytes."""
    made: list[Code] = []
    for text in part.texts:
        code = _fetched(text, arch)
        if code.usage.spill_stores == 0:
            return code
        made.append(code)
    return min(made, key=lambda code: code.usage.moved)


def _fetched(text: Text, arch: str) -> Code:
    """From the cache if it was made before."""
    parts: Sequence[str] = ["cuda", arch, str(link_version()), text.ptx]

    def make(path: Path) -> None:
        cubin, usage = link(text.ptx, arch)
        path.write_bytes(json.dumps(asdict(usage)).encode("ascii") + b"\n" + cubin)

    head, _, cubin = cache.fetch(parts, f"{text.name} {arch}", make).partition(b"\n")
    return Code(text, cubin, Usage(**json.loads(head)))
