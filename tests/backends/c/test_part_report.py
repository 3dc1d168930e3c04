"""The report of an embedded export: what it measures, what it refuses."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import condyle
from condyle.backends.c import part_report
from condyle.backends.c.part_report import (
    FLAGS,
    PARTS,
    Budget,
    budget_of,
    check_embedded,
    check_limits,
    part_of,
    stacks,
    table,
)
from condyle.backends.common.facts import UNTESTED
from condyle.errors import BuildError, UnsupportedError
from tests.backends.c.bare import needs_parts

ROW = {"stack": 480, "work": 64, "instructions": [1699, 1699]}
REPORT: dict[str, Any] = {
    "part": "cortex-m7",
    "compiler": "gcc 12",
    "flash": {"fd": 5000, "id": 3000},
    "ram": 64,
    "untested": {},
    "functions": {"fd": ROW, "id": {"stack": 400, "work": 0, "instructions": None}},
}
GRAPH = """graph: { title: "a.c"
node: { title: "f" label: "f\\na.c:1:1\\n16 bytes (static)\\n0 dynamic objects" }
node: { title: "a.c:g" label: "g\\na.c:2:1\\n100 bytes (static)" }
node: { title: "a.c:h" label: "h\\na.c:3:1\\n40 bytes (KIND)" }
edge: { sourcename: "f" targetname: "a.c:g" label: "a.c:1:2" }
edge: { sourcename: "f" targetname: "a.c:h" label: "a.c:1:3" }
edge: { sourcename: "a.c:g" targetname: "a.c:h" label: "a.c:2:2" }
}
"""


@pytest.mark.slow
@needs_parts
def test_an_arm_on_every_part(tmp_path: Path) -> None:
    """It fits: 256 KB of flash and 8 KB of stack for id, fd, dfd in all; every call takes as many instructions."""
    robot = condyle.load("iiwa14")
    for part in PARTS:
        files = condyle.export(
            robot,
            "c",
            tmp_path,
            functions=("id", "fd", "dfd"),
            dtype="float32",
            embedded=True,
            part=part,
            flash=256 * 1024,
            stack=8 * 1024,
        )
        assert tmp_path / "report.json" in files
        report = json.loads((tmp_path / "report.json").read_text())
        assert report["part"] == part and report["ram"] == 0
        assert list(report["functions"]) == ["id", "fd", "dfd"] == list(report["flash"])
        for row in report["functions"].values():
            least, most = row["instructions"]
            assert 100 < least == most
        counts = [row["instructions"][0] for row in report["functions"].values()]
        assert counts == sorted(counts)
    with pytest.raises(
        UnsupportedError, match=r"flash=4096: on cortex-a53 the code and tables are \d+ bytes.* dfd \d+"
    ):
        condyle.export(robot, "c", tmp_path / "b", functions=("dfd",), embedded=True, part="cortex-a53", flash=4096)
    assert not (tmp_path / "b").exists()


def test_stack_is_that_of_the_deepest_chain() -> None:
    assert stacks([GRAPH.replace("KIND", "static")]) == {"f": 156, "a.c:g": 140, "a.c:h": 40}
    with pytest.raises(BuildError, match=r"a.c:h: its stack has no bound that the compiler knows"):
        stacks([GRAPH.replace("KIND", "dynamic")])
    with pytest.raises(BuildError, match=r"a.c:h: its stack is not known, because it calls __indirect_call"):
        stacks([GRAPH.replace("KIND", "static"), 'edge: { sourcename: "a.c:h" targetname: "__indirect_call" }'])
    again = 'edge: { sourcename: "a.c:h" targetname: "f" label: "a.c:3:3" }\n'
    with pytest.raises(BuildError, match="it calls itself"):
        stacks([GRAPH.replace("KIND", "static") + again])


def test_limits_are_refused_with_the_numbers() -> None:
    check_limits(REPORT, 8000, 480)
    check_limits(REPORT, None, None)
    with pytest.raises(
        UnsupportedError, match=r"flash=7999: on cortex-m7 .* 8000 bytes, most of them fd 5000, id 3000"
    ):
        check_limits(REPORT, 7999, None)
    with pytest.raises(UnsupportedError, match="stack=450: on cortex-m7 these need more bytes: fd 480"):
        check_limits(REPORT, None, 450)


def test_the_table_has_a_row_a_function() -> None:
    lines = table(REPORT).splitlines()
    assert [line.split() for line in lines[2:]] == [
        ["fd", "5000", "480", "64", "1699"],
        ["id", "3000", "400", "0", "-"],
        ["in", "all", "8000", "480", "64"],
    ]
    assert table({**REPORT, "untested": {"fd": "no state"}}).splitlines()[-1] == "fd has no test: no state"


def test_options_that_do_not_go_together() -> None:
    assert budget_of({}, "float32") is None
    for options, said in (
        ({"flash": 1000}, "name it, such as part='cortex-m7'"),
        ({"part": "cortex-m7", "stack": 0}, "stack=0: give a number of bytes"),
        ({"part": "cortex-m7", "libm": True}, "leave out libm=True"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            budget_of(options, "float32")


def test_parts_are_what_their_makers_say() -> None:
    """Names of tools, packages, flags and emulators, the address of memory, and whether there is float64."""
    tools = {
        "cortex-m4f": ("arm-none-eabi-", "gcc-arm-none-eabi", "qemu-system-arm"),
        "cortex-m7": ("arm-none-eabi-", "gcc-arm-none-eabi", "qemu-system-arm"),
        "rv64gc": ("riscv64-unknown-elf-", "gcc-riscv64-unknown-elf", "qemu-system-misc"),
        "cortex-a53": ("aarch64-linux-gnu-", "gcc-aarch64-linux-gnu", "qemu-system-arm"),
    }
    assert {name: (part.tools, part.package, part.emulator_package) for name, part in PARTS.items()} == tools
    assert [(part.origin, part.doubles) for part in PARTS.values()] == [
        (0, False), (0, True), (1 << 31, True), (1 << 30, True),
    ]  # fmt: skip
    for part, flag, machine in zip(
        PARTS.values(),
        ("-mcpu=cortex-m4 -mfpu=fpv4-sp-d16", "-mcpu=cortex-m7 -mfpu=fpv5-d16", "-march=rv64gc", "-mcpu=cortex-a53"),
        ("arm -M mps2-an386", "arm -M mps2-an500", "riscv64 -M virt -bios none", "aarch64 -M virt -cpu cortex-a53"),
        strict=True,
    ):
        assert flag in part.flags and part.emulator == f"qemu-system-{machine}"
        assert part_of(part.name, "float32") is part


PROGRAMS = {
    "gcc": "gcc 12.1\nCopyright",
    "size": "text data bss dec\n 100 20 3 123 arm_id.o\n 50 0 7 57 arm_fd.o\n",
    "nm": "00000010 T NAME\n         U memset\n00000040 t local\n",
}
"""What tools print."""


@pytest.fixture
def told(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that are run; no tool is there, but all are found except emulators."""
    commands = list[list[str]]()

    def run(some: Sequence[Sequence[str]], folder: Path | None, timeout: float, at_once: int) -> list[str]:
        for command in some:
            commands.append(list(command))
            if "-fcallgraph-info=su" in command and folder is not None:
                name = Path(command[-1]).stem
                node = f'node: {{ title: "{name}" label: "f\\n{len(commands)}00 bytes (static)" }}\n'
                (folder / f"{name}.ci").write_text(node)
        tools = [Path(command[0]).name.rpartition("-")[2] for command in some]
        return [
            PROGRAMS[tool].replace("NAME", Path(command[-1]).stem) for tool, command in zip(tools, some, strict=True)
        ]

    monkeypatch.setattr(part_report, "run", run)
    monkeypatch.setattr(shutil, "which", lambda name: None if name.startswith("qemu") else f"/bin/{name}")
    return commands


TEXTS = {
    "arm.h": "enum { arm_id_work_bytes = 640 };",
    "arm_id.c": "",
    "arm_fd.c": "",
    "test.c": "",
    "README.md": "page\n",
}


def test_a_report_without_an_emulator(told: list[list[str]]) -> None:
    """flash: code and initial values; ram: variables of all, and the largest workspace; the test is not counted."""
    report = part_report.measured("arm", TEXTS, PARTS["cortex-m7"])
    assert report == {
        "part": "cortex-m7",
        "compiler": "gcc 12.1",
        "flags": f"{' '.join(FLAGS)} {PARTS['cortex-m7'].flags}",
        "flash": {"id": 120, "fd": 50},
        "ram": 23 + 7 + 640,
        "functions": {
            "id": {"stack": 100, "work": 640, "instructions": None},
            "fd": {"stack": 200, "work": 0, "instructions": None},
        },
    }
    compiler = ["/bin/arm-none-eabi-gcc", "-std=c99", "-O2", "-ffreestanding", "-ffp-contract=fast", "-fno-math-errno"]
    compiler += ["-fno-asynchronous-unwind-tables", "-fno-unwind-tables", "-fno-pic", *PARTS["cortex-m7"].flags.split()]
    compiler += ["-DCONDYLE_BARE", "-fcallgraph-info=su", "-c"]
    assert told == [
        *([*compiler, name] for name in ("arm_id.c", "arm_fd.c", "test.c")),
        ["/bin/arm-none-eabi-size", "arm_id.o", "arm_fd.o"],
        ["/bin/arm-none-eabi-nm", "arm_id.o"],
        ["/bin/arm-none-eabi-nm", "arm_fd.o"],
        ["/bin/arm-none-eabi-gcc", "--version"],
    ]


def emulated(monkeypatch: pytest.MonkeyPatch, status: int, counts: dict[str, list[int]]) -> dict[str, Any]:
    """The report where an emulator ends with this status and counts so many instructions for each call."""
    monkeypatch.setattr(shutil, "which", lambda name: f"/bin/{name}")
    monkeypatch.setattr(part_report, "link", lambda part, folder, check: folder / check)
    monkeypatch.setattr(
        part_report, "instructions", lambda part, program: (status, counts if program.name == "arm_check" else {})
    )
    return part_report.measured("arm", TEXTS, PARTS["rv64gc"])


@pytest.mark.usefixtures("told")
def test_a_report_with_an_emulator(monkeypatch: pytest.MonkeyPatch) -> None:
    """Least and most instructions of a call, None for what is never called."""
    functions = emulated(monkeypatch, 0, {"arm_id": [7, 9, 8]})["functions"]
    assert {name: row["instructions"] for name, row in functions.items()} == {"id": [7, 9], "fd": None}


@pytest.mark.usefixtures("told")
def test_a_wrong_answer_on_an_emulator_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(BuildError, match="part='rv64gc': 2 functions of arm have wrong answers on its emulator"):
        emulated(monkeypatch, 2, {})


def test_the_files_of_an_export_with_a_report(told: list[list[str]]) -> None:
    part = PARTS["rv64gc"]
    assert part_report.with_report("arm", TEXTS, None) == TEXTS
    texts = part_report.with_report("arm", TEXTS, Budget(part, 170, 200), ["fd"])
    assert texts.keys() == {*TEXTS, "bare.c", "bare.ld", "report.json"}
    report = json.loads(texts["report.json"])
    assert texts["report.json"] == json.dumps(report, indent=1) + "\n"
    assert report["untested"] == {"fd": UNTESTED} and report["ram"] == 670
    assert (
        texts["README.md"]
        == f"""\
page

## rv64gc

```text
{table(report)}
```

The test on an emulator; the exit status is that of `arm_check()`. `bare.c` starts the processor, `bare.ld` is its
memory; neither is part of the library.

```sh
riscv64-unknown-elf-gcc {" ".join(FLAGS)} {part.flags} \\
  -nostdlib -static -T bare.ld -Wl,--defsym=condyle_origin=0x80000000 \\
  -DCONDYLE_BARE -DCONDYLE_CHECK=arm_check *.c -o check.elf
{" ".join(part_report.emulation(part, Path("check.elf")))}
```
"""
    )
    for budget, said in ((Budget(part, 169, None), "flash=169"), (Budget(part, None, 199), "stack=199")):
        with pytest.raises(UnsupportedError, match=said):
            part_report.with_report("arm", TEXTS, budget)


def test_a_program_is_linked_with_its_start_alone(told: list[list[str]], tmp_path: Path) -> None:
    for name in ("b.o", "a.o"):
        (tmp_path / name).write_text("")
    part = PARTS["cortex-a53"]
    assert part_report.link(part, tmp_path, "arm_check") == tmp_path / "program"
    assert (tmp_path / "bare.c").read_text() == (part_report.SUPPORT / "bare.c").read_text()
    compiled, linked = told
    assert compiled[-4:] == ["-DCONDYLE_CHECK=arm_check", "-fcallgraph-info=su", "-c", "bare.c"]
    assert linked == [
        *("/bin/aarch64-linux-gnu-gcc", "-nostdlib", "-static", "-Wl,--fatal-warnings", "-Wl,--build-id=none"),
        *("-mcpu=cortex-a53", "-T", str(part_report.SUPPORT / "bare.ld"), "-Wl,--defsym=condyle_origin=0x40000000"),
        *("a.o", "b.o", "-o", "program"),
    ]


def test_symbols_have_kinds_and_addresses(told: list[list[str]]) -> None:
    found = part_report.symbols(PARTS["rv64gc"], Path("folder/x.o"))
    assert found == {"x": ("T", 16), "memset": ("U", 0), "local": ("t", 64)}
    assert told == [["/bin/riscv64-unknown-elf-nm", "x.o"]]


def test_emulators_have_no_devices() -> None:
    command = part_report.emulation(PARTS["cortex-m7"], Path("check.elf"))
    assert command == [
        *("qemu-system-arm", "-M", "mps2-an500", "-nographic", "-nic", "none", "-monitor", "none", "-serial", "none"),
        *("-semihosting-config", "enable=on,target=native", "-kernel", "check.elf"),
    ]


@pytest.mark.parametrize(
    ("version", "is_old"), [("7.2.11 (Debian)", True), ("8.0.5", True), ("8.1.0", False), ("9.0.0", False)]
)
def test_instructions_are_taken_one_by_one(monkeypatch: pytest.MonkeyPatch, version: str, is_old: bool) -> None:
    monkeypatch.setattr(part_report, "run", lambda commands, *_: [f"{commands[0][0]} version {version}\n"])
    said = part_report._single(PARTS["rv64gc"])
    assert said == (["-singlestep"] if is_old else ["-accel", "tcg,one-insn-per-tb=on"])


@pytest.mark.parametrize("name", ["libm", "part", "flash", "stack"])
def test_options_of_embedded_projects_are_theirs_alone(name: str) -> None:
    options = {name: 5, "other": 1}
    assert check_embedded(True, options) is options
    assert check_embedded(False, {name: None}) == {name: None}
    with pytest.raises(UnsupportedError, match=f"^{name}=5: target 'c' takes it with embedded=True only$"):
        check_embedded(False, options)


def test_a_budget_is_a_part_and_its_limits() -> None:
    part = PARTS["cortex-m7"]
    assert budget_of({"part": "cortex-m7"}, "float64") == Budget(part, None, None)
    assert budget_of({"part": "cortex-m7", "flash": 1, "stack": 2, "libm": False}, "float32") == Budget(part, 1, 2)
    for options in ({"flash": 1.5}, {"stack": -1}, {"flash": 0}, {"part": "cortex-m7", "flash": "1"}):
        with pytest.raises(UnsupportedError, match="give a number of bytes, such as 262144"):
            budget_of(options, "float32")
    with pytest.raises(UnsupportedError, match="no float64"):
        budget_of({"part": "cortex-m4f"}, "float64")


def test_three_largest_are_named() -> None:
    report = {**REPORT, "flash": {"a": 1, "b": 4, "c": 3, "d": 2}}
    with pytest.raises(UnsupportedError, match=r"are 10 bytes, most of them b 4, c 3, d 2: export fewer"):
        check_limits(report, 9, None)
    check_limits(report, 10, 480)


def test_the_table_says_how_far_calls_differ() -> None:
    functions = {"fd": {**ROW, "instructions": [10, 12]}, "x": {**ROW, "stack": 500, "work": 8}}
    assert (
        table({**REPORT, "functions": functions, "compiler": "gcc 12"})
        == """\
cortex-m7: bytes, and instructions a call; gcc 12
function  flash  stack  work  instructions
fd         5000    480    64      10 to 12
x             -    500     8          1699
in all     8000    500    64"""
    )
    assert table({**REPORT, "functions": {}}).splitlines()[-1].split() == ["in", "all", "8000", "0", "0"]


def test_an_emulator_is_asked_for_each_instruction(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Calls of what is exported between the ends of the library; bit 0 of an address says Thumb."""
    trace = "".join(f"Trace 0: 0x7f [0/{address:08x}/0] name\\n" for address in (4, 100, 102, 4, 150, 8, 100, 200, 99))
    script = (
        f"import sys; sys.stderr.write('{trace}'); assert sys.argv[1:] == ['-d', 'exec,nochain', '-x']; sys.exit(3)"
    )
    names = {
        "condyle_library": ("t", 100),
        "condyle_library_end": ("t", 200),
        "arm_id": ("T", 101),
        "arm_fd": ("T", 150),
    }
    names |= {"local": ("t", 102), "main": ("T", 4), "behind": ("T", 200)}
    monkeypatch.setattr(part_report, "symbols", lambda part, program: names)
    monkeypatch.setattr(part_report, "emulation", lambda part, program: [sys.executable, "-c", script])
    monkeypatch.setattr(part_report, "_single", lambda part: ["-x"])
    status, counts = part_report.instructions(PARTS["cortex-m7"], tmp_path / "program")
    assert (status, counts) == (3, {"arm_id": [2, 1], "arm_fd": [1]})
