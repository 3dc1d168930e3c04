"""Processors that an embedded export is compiled, measured and run for: their compilers, emulators and flags."""

from __future__ import annotations

import shutil
import subprocess
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from condyle.errors import BuildError, UnsupportedError
from condyle.runtime.kernel import cores
from condyle.runtime.toolchain import run

SUPPORT = Path(__file__).parent / "support"
TIMEOUT = 600.0  # s, of a compiler and of a run
FLAGS = ("-std=c99", "-O2", "-ffreestanding", "-ffp-contract=fast", "-fno-math-errno")
NO_TABLES = ("-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-pic")


class Part(NamedTuple):
    """A processor. tools: how the names of its GNU tools begin, which are in the Debian package `package`. emulator: a
    machine of qemu, in `emulator_package`, whose memory begins at `origin`. doubles: it computes in float64."""

    name: str
    tools: str
    package: str
    flags: str
    emulator: str
    emulator_package: str
    origin: int
    doubles: bool = True

    def tool(self, name: str) -> str:
        """The path of one of its tools; BuildError where it is missing."""
        path = shutil.which(f"{self.tools}{name}")
        if path is None:
            raise BuildError(
                f"part={self.name!r} needs the program {self.tools}{name}, which is not there: "
                f"install the Debian package {self.package}"
            )
        return path


_ARM = "arm-none-eabi-", "gcc-arm-none-eabi"
_M4 = "-mthumb -mcpu=cortex-m4 -mfpu=fpv4-sp-d16 -mfloat-abi=hard", "qemu-system-arm -M mps2-an386", "qemu-system-arm"
_M7 = "-mthumb -mcpu=cortex-m7 -mfpu=fpv5-d16 -mfloat-abi=hard", "qemu-system-arm -M mps2-an500", "qemu-system-arm"
_RV = "-march=rv64gc -mabi=lp64d -mcmodel=medany", "qemu-system-riscv64 -M virt -bios none", "qemu-system-misc"
_A53 = "-mcpu=cortex-a53", "qemu-system-aarch64 -M virt -cpu cortex-a53", "qemu-system-arm"
_PARTS = (
    Part("cortex-m4f", *_ARM, *_M4, 0, doubles=False),
    Part("cortex-m7", *_ARM, *_M7, 0),
    Part("rv64gc", "riscv64-unknown-elf-", "gcc-riscv64-unknown-elf", *_RV, 0x80000000),
    Part("cortex-a53", "aarch64-linux-gnu-", "gcc-aarch64-linux-gnu", *_A53, 0x40000000),
)
PARTS = {part.name: part for part in _PARTS}


def part_of(name: str, dtype: str) -> Part:
    """The part of a name; UnsupportedError if there is none, or if it has no unit for these numbers."""
    if name not in PARTS:
        raise UnsupportedError(f"part={name!r} is not one of the processors {', '.join(map(repr, PARTS))}")
    part = PARTS[name]
    if dtype == "float64" and not part.doubles:
        raise UnsupportedError(f"part={name!r} has no float64 instructions: export with dtype='float32'")
    return part


def compile_for(part: Part, folder: Path, sources: Iterable[str], flags: Iterable[str] = ()) -> None:
    """Makes X.o, and X.ci (who calls whom, bytes of stack), of each source X.c in the folder."""
    compiler = [part.tool("gcc"), *FLAGS, *NO_TABLES, *part.flags.split(), *flags, "-fcallgraph-info=su", "-c"]
    run([[*compiler, source] for source in sources], folder, TIMEOUT, cores())


def link(part: Part, folder: Path, check: str) -> Path:
    """The program of all objects in the folder, which calls `check` when it starts. Nothing else is linked."""
    (folder / "bare.c").write_text((SUPPORT / "bare.c").read_text())
    compile_for(part, folder, ["bare.c"], [f"-DCONDYLE_CHECK={check}"])
    objects = sorted(path.name for path in folder.glob("*.o"))
    place = ["-T", str(SUPPORT / "bare.ld"), f"-Wl,--defsym=condyle_origin={part.origin:#x}"]
    bare = ["-nostdlib", "-static", "-Wl,--fatal-warnings", "-Wl,--build-id=none", *part.flags.split(), *place]
    run([[part.tool("gcc"), *bare, *objects, "-o", "program"]], folder, TIMEOUT, 1)
    return folder / "program"


def symbols(part: Part, path: Path) -> dict[str, tuple[str, int]]:
    """Kind and address of each symbol of an object or program, as `nm` prints them."""
    (text,) = run([[part.tool("nm"), path.name]], path.parent, TIMEOUT, 1)
    rows = (line.split() for line in text.splitlines())
    return {row[-1]: (row[-2], int(row[0], 16) if len(row) > 2 else 0) for row in rows}


def emulation(part: Part, program: Path) -> list[str]:
    """The command that runs a program on a bare machine."""
    devices = "-nographic -nic none -monitor none -serial none -semihosting-config enable=on,target=native"
    return [*part.emulator.split(), *devices.split(), "-kernel", str(program)]


def instructions(part: Part, program: Path) -> tuple[int, dict[str, list[int]]]:
    """Exit status, and how many instructions each call of an exported function took, by name, in the order of calls."""
    names = symbols(part, program)
    low, high = names["condyle_library"][1], names["condyle_library_end"][1]
    entries = {address & ~1: name for name, (kind, address) in names.items() if kind == "T" and low <= address < high}
    command = [*emulation(part, program), "-d", "exec,nochain", *_single(part)]
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True
    ) as process:
        timer = threading.Timer(TIMEOUT, process.kill)
        timer.start()
        try:
            counted = _counted(process.stderr or (), range(low, high), entries)
            return process.wait(), counted
        finally:
            timer.cancel()
            process.kill()


def _counted(trace: Iterable[str], library: range, entries: Mapping[int, str]) -> dict[str, list[int]]:
    """Reads a line for each instruction, `Trace 0: HOST [CS/ADDRESS/...`: a call lasts until it leaves the library."""
    counts: dict[str, list[int]] = {}
    call: list[int] | None = None
    for line in trace:
        if not line.startswith("Trace"):
            continue
        address = int(line.split("/", 2)[1], 16)
        if address not in library:
            call = None
        elif call is None:
            call = counts.setdefault(entries.get(address, hex(address)), [])
            call.append(1)
        else:
            call[-1] += 1
    return counts


def _single(part: Part) -> list[str]:
    """The arguments by which an emulator takes instructions one by one; qemu 8.1 renamed them."""
    (said,) = run([[part.emulator.split()[0], "--version"]], None, TIMEOUT, 1)
    major, minor = (int(number) for number in said.split("version ")[1].split(".")[:2])
    return ["-singlestep"] if (major, minor) < (8, 1) else ["-accel", "tcg,one-insn-per-tb=on"]
