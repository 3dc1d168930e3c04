"""PTX -> machine code by nvJitLink, which needs neither a GPU nor a driver, and through the cache; its register usage.

Of several texts of a kernel the one with the fewest spilled bytes is taken.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path
from types import ModuleType

from condyle.backends.cuda.parts import Part, Text
from condyle.errors import BuildError
from condyle.runtime import cache

ARCHITECTURES = tuple(f"sm_{number}" for number in (80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121))
"""Architectures that nvJitLink 13 and our PTX support. For any other, nvJitLink ends the process."""

MISSING = (
    "target 'cuda' needs the packages cuda-bindings and nvidia-nvjitlink, and this installation lacks {what}: "
    "pip install 'condyle[cuda]'"
)


@dataclass(frozen=True, slots=True)
class Usage:
    """Of a thread of one kernel: registers of 32 bits, bytes of stack, bytes that the assembler spilled."""

    registers: int
    stack: int
    spill_stores: int
    spill_loads: int

    @property
    def moved(self) -> int:
        """A lower bound of the bytes moved to and from local memory."""
        return self.stack + self.spill_stores + self.spill_loads


def nvjitlink() -> ModuleType:
    """The bindings; BuildError with the packages to install if they are missing."""
    try:
        module = import_module("cuda.bindings.nvjitlink")
        module.version()
    except ImportError as error:
        raise BuildError(MISSING.format(what="cuda-bindings")) from error
    except Exception as error:  # the loader of the bindings has error classes of its own
        raise BuildError(MISSING.format(what="nvidia-nvjitlink")) from error
    return module


def link_version() -> tuple[int, int]:
    """The CUDA version of nvJitLink."""
    major, minor = nvjitlink().version()
    return int(major), int(minor)


def link(ptx: str, arch: str) -> tuple[bytes, Usage]:
    """Machine code for one architecture (such as "sm_90"), and the usage of its only kernel. BuildError with the
    log."""
    module = nvjitlink()
    if arch not in ARCHITECTURES:
        raise BuildError(f"nvJitLink makes no code for {arch}; it does for {', '.join(ARCHITECTURES)}")
    handle = module.create(2, [f"-arch={arch}", "-verbose"])
    try:
        try:
            data = ptx.encode("ascii")
            module.add_data(handle, module.InputType.PTX, data, len(data), "condyle.ptx")
            module.complete(handle)
        except module.nvJitLinkError as error:
            raise BuildError(f"nvJitLink makes no code for {arch}: {error}\n{_error_log(module, handle)}") from error
        cubin = bytearray(module.get_linked_cubin_size(handle))
        module.get_linked_cubin(handle, cubin)
        log = bytearray(module.get_info_log_size(handle))
        module.get_info_log(handle, log)
    finally:
        module.destroy(handle)
    return bytes(cubin), usage(log.decode(errors="replace"))


def _error_log(module: ModuleType, handle: int) -> str:
    log = bytearray(module.get_error_log_size(handle))
    if log:
        module.get_error_log(handle, log)
    return log.decode(errors="replace").rstrip("\0\n")


def usage(log: str) -> Usage:
    """The usage in the assembler's verbose log."""
    registers = re.search(r"Used (\d+) registers", log)
    memory = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", log)
    if registers is None or memory is None:
        raise BuildError(f"the assembler's log says nothing of registers: {log!r}")
    return Usage(int(registers[1]), *(int(number) for number in memory.groups()))


@dataclass(frozen=True, slots=True)
class Code:
    """Machine code of one kernel, its PTX, and its usage."""

    text: Text
    cubin: bytes
    usage: Usage


def assemble(part: Part, arch: str) -> Code:
    """The first text for which the assembler spills nothing, else the one that moves the fewest bytes."""
    made: list[Code] = []
    for text in part.texts:
        code = _fetched(text, arch)
        if code.usage.spill_stores == 0:
            return code
        made.append(code)
    return min(made, key=lambda code: code.usage.moved)


def _fetched(text: Text, arch: str) -> Code:
    """Machine code of a text, from the cache if it is there."""
    parts: Sequence[str] = ["cuda", arch, str(link_version()), text.ptx]

    def make(path: Path) -> None:
        cubin, usage = link(text.ptx, arch)
        path.write_bytes(json.dumps(asdict(usage)).encode("ascii") + b"\n" + cubin)

    head, _, cubin = cache.fetch(parts, f"{text.name} {arch}", make).partition(b"\n")
    return Code(text, cubin, Usage(**json.loads(head)))
