"""Processors of embedded exports, and what an export needs of one: flash, stack, RAM and instructions a call."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from condyle.backends.common.facts import UNTESTED
from condyle.errors import BuildError, UnsupportedError
from condyle.runtime.native import cores
from condyle.runtime.toolchain import run

# Processors that an embedded export is compiled, measured and run for: their compilers, emulators and flags.


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


REPORT = "report.json"
TEST = "test"
_NODE = re.compile(r'node: \{ title: "([^"]+)" label: "[^"]*?(\d+) bytes \(([^)]*)\)')
_EDGE = re.compile(r'edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"')


class Budget(NamedTuple):
    """A processor, and how many bytes of flash and of stack there are for an export; None: any number."""

    part: Part
    flash: int | None
    stack: int | None


def check_embedded(embedded: bool, options: Mapping[str, Any]) -> Mapping[str, Any]:
    """The options; UnsupportedError for those of embedded projects where it is none."""
    for name in ("libm", "part", "flash", "stack"):
        if options.get(name) is not None and not embedded:
            raise UnsupportedError(f"{name}={options[name]!r}: target 'c' takes it with embedded=True only")
    return options


def budget_of(options: Mapping[str, Any], dtype: str) -> Budget | None:
    """What the options part, flash, stack say; None if they are not there."""
    part, limits = options.get("part"), [options.get(name) for name in ("flash", "stack")]
    for name, size in zip(("flash", "stack"), limits, strict=True):
        if size is not None and (not isinstance(size, int) or size <= 0):
            raise UnsupportedError(f"{name}={size!r}: give a number of bytes, such as 262144")
    if part is None:
        if limits != [None, None]:
            raise UnsupportedError("flash and stack are limits on a processor: name it, such as part='cortex-m7'")
        return None
    if options.get("libm"):
        raise UnsupportedError(f"part={part!r}: the report is of code without libm: leave out libm=True")
    return Budget(part_of(part, dtype), *limits)


def with_report(
    name: str, texts: Mapping[str, str], budget: Budget | None, untested: Iterable[str] = ()
) -> dict[str, str]:
    """The files, and if there is a budget `report.json` and what a bare machine starts with; UnsupportedError if they
    need more. untested: functions without test vectors."""
    if budget is None:
        return dict(texts)
    report = {**measured(name, texts, budget.part), "untested": dict.fromkeys(untested, UNTESTED)}
    check_limits(report, budget.flash, budget.stack)
    start = {file: (SUPPORT / file).read_text() for file in ("bare.c", "bare.ld")}
    page = texts["README.md"] + _page(name, budget.part, report)
    return {**texts, **start, "README.md": page, REPORT: json.dumps(report, indent=1) + "\n"}


def _page(name: str, part: Part, report: Mapping[str, Any]) -> str:
    """The report, and how the test is compiled and run."""
    place = f"-Wl,--defsym=condyle_origin={part.origin:#x}"
    lines = [f"{part.tools}gcc {' '.join(FLAGS)} {part.flags}", f"  -nostdlib -static -T bare.ld {place}"]
    lines += [f"  -DCONDYLE_BARE -DCONDYLE_CHECK={name}_check *.c -o check.elf"]
    text, run_it = " \\\n".join(lines), " ".join(emulation(part, Path("check.elf")))
    return f"""
## {part.name}

```text
{table(report)}
```

The test on an emulator; the exit status is that of `{name}_check()`. `bare.c` starts the processor, `bare.ld` is its
memory; neither is part of the library.

```sh
{text}
{run_it}
```
"""


def measured(name: str, texts: Mapping[str, str], part: Part) -> dict[str, Any]:
    """The report of a project of these files, as `report.json` holds it.

    flash: bytes of code and tables. stack: bytes of the deepest chain of calls. ram: bytes of written variables, and of
    the largest workspace. work: bytes that the caller lends to a call. instructions: least and most of a call in the
    project's test, None without an emulator.
    Raises BuildError if the compiler is missing or fails, or if an answer is wrong on the emulator.
    """
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        for file, text in texts.items():
            if file.endswith((".c", ".h")):
                (folder / file).write_text(text, encoding="ascii")
        sources = [file for file in texts if file.endswith(".c")]
        compile_for(part, folder, sources, ["-DCONDYLE_BARE"])
        parts = [Path(file).stem for file in sources if Path(file).stem != TEST]
        sizes = _sizes(part, folder, parts)
        deepest = stacks((folder / f"{file}.ci").read_text() for file in parts)
        counts: dict[str, list[int]] = {}
        if shutil.which(part.emulator.split()[0]):
            status, counts = instructions(part, link(part, folder, f"{name}_check"))
            if status:
                raise BuildError(f"part={part.name!r}: {status} functions of {name} have wrong answers on its emulator")
        functions, head = dict[str, Any](), texts[f"{name}.h"]
        for file in parts:
            for symbol, (kind, _) in symbols(part, folder / f"{file}.o").items():
                if kind == "T":
                    count = counts.get(symbol)
                    functions[symbol.removeprefix(f"{name}_")] = {
                        "stack": deepest[symbol],
                        "work": int(work.group(1))
                        if (work := re.search(rf"\b{symbol}_work_bytes = (\d+)", head))
                        else 0,
                        "instructions": None if count is None else [min(count), max(count)],
                    }
        (version,) = run([[part.tool("gcc"), "--version"]], None, 60.0, 1)
    return {
        "part": part.name,
        "compiler": version.partition("\n")[0],
        "flags": " ".join([*FLAGS, part.flags]),
        "flash": {file.removeprefix(f"{name}_"): flash for file, (flash, _) in sizes.items()},
        "ram": sum(ram for _, ram in sizes.values()) + max((row["work"] for row in functions.values()), default=0),
        "functions": functions,
    }


def _sizes(part: Part, folder: Path, parts: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Bytes of flash and of RAM of each object: the initial values of variables are in flash too."""
    (text,) = run([[part.tool("size"), *(f"{file}.o" for file in parts)]], folder, 60.0, 1)
    rows = [list(map(int, line.split()[:3])) for line in text.splitlines()[1:]]
    return {file: (code + data, data + bss) for file, (code, data, bss) in zip(parts, rows, strict=True)}


def stacks(graphs: Iterable[str]) -> dict[str, int]:
    """Bytes of stack of each function with all that it calls, of the compiler's call graphs; BuildError where the
    compiler knows no bound."""
    frames: dict[str, int] = {}
    calls: dict[str, set[str]] = {}
    for graph in graphs:
        for title, size, kind in _NODE.findall(graph):
            frames[title] = int(size)
            if "dynamic" in kind and "bounded" not in kind:
                raise BuildError(f"{title}: its stack has no bound that the compiler knows")
        for caller, callee in _EDGE.findall(graph):
            calls.setdefault(caller, set()).add(callee)
    deep: dict[str, int] = {}

    def deepest(function: str, above: tuple[str, ...]) -> int:
        if function in above:
            raise BuildError(f"{function}: its stack has no bound, because it calls itself")
        if function not in frames:  # a library's, or __indirect_call
            raise BuildError(f"{above[-1]}: its stack is not known, because it calls {function}")
        if function not in deep:
            below = (deepest(callee, (*above, function)) for callee in calls.get(function, ()))
            deep[function] = frames[function] + max(below, default=0)
        return deep[function]

    return {function: deepest(function, ()) for function in frames}


def check_limits(report: Mapping[str, Any], flash: int | None, stack: int | None) -> None:
    """UnsupportedError, with the numbers, for what does not fit."""
    part, total = report["part"], sum(report["flash"].values())
    if flash is not None and total > flash:
        raise UnsupportedError(
            f"flash={flash}: on {part} the code and tables are {total} bytes, most of them "
            f"{_largest(report['flash'])}: export fewer functions"
        )
    deep = {name: row["stack"] for name, row in report["functions"].items() if stack and row["stack"] > stack}
    if deep:
        raise UnsupportedError(
            f"stack={stack}: on {part} these need more bytes: {_largest(deep)}: leave them out, or allow more"
        )


def _largest(sizes: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {size}" for name, size in sorted(sizes.items(), key=lambda row: -row[1])[:3])


def table(report: Mapping[str, Any]) -> str:
    """The report as lines for people."""
    functions, flash = report["functions"], report["flash"]
    rows = [("function", "flash", "stack", "work", "instructions")]
    for name, row in functions.items():
        least, most = row["instructions"] or ("-", "-")
        count = str(most) if least == most else f"{least} to {most}"
        rows.append((name, str(flash.get(name, "-")), str(row["stack"]), str(row["work"]), count))
    stack, work = (str(max((row[what] for row in functions.values()), default=0)) for what in ("stack", "work"))
    rows.append(("in all", str(sum(flash.values())), stack, work, ""))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = ["  ".join([f"{row[0]:<{widths[0]}}", *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    lines += [f"{name} has no test: {why}" for name, why in report["untested"].items()]
    return "\n".join([f"{report['part']}: bytes, and instructions a call; {report['compiler']}", *lines])
