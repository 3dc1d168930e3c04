"""Registers of a kernel's text."""

from __future__ import annotations

import re

SPECIAL = {"tid", "ctaid", "ntid"}


def check_registers(ptx: str) -> None:
    """All that are used are declared; of `%v` and `%x`, as many as up to the last one that is used."""
    declaration = re.compile(r"\.reg \.\w+ ([^;]*);")
    names = re.findall(r"%(\w+)(?:<(\d+)>)?", " ".join(declaration.findall(ptx)))
    declared = {name for name, count in names if not count}
    declared |= {f"{stem}{k}" for stem, count in names if count for k in range(int(count))}
    used = set(re.findall(r"%([A-Za-z]\w*)", declaration.sub("", ptx))) - SPECIAL
    assert used <= declared, used - declared
    for stem, count in names:
        if count and stem in ("v", "x"):
            last = max((int(name[1:]) for name in used if re.fullmatch(rf"{stem}\d+", name)), default=0)
            assert int(count) == last + 1, stem
