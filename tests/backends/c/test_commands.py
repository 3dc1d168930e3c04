"""What the compiler is told, what a kept library depends on, and loops over time as numbers: no compiler is called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from condyle.backends.c import build as building
from condyle.backends.c.build import CKernel, compile_shared
from condyle.backends.c.source import LINE, Source, most, real_of, source
from condyle.backends.c.target import TARGET
from condyle.backends.common.chunks import Chunk, lower
from condyle.backends.common.facts import Facts
from condyle.ir.loops import COUNT, Give, Take, TimeLoop
from condyle.runtime.native import Shape
from condyle.runtime.toolchain import Compiler
from tests.backends.c.small import tangle, toy

FLAGS = ["-O2", "-march=native", "-fPIC", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math"]
COMPILER = cast(Compiler, SimpleNamespace(path="/bin/cc", identity="cc 1", version="1.0"))
SHAPE = Shape((3, 4), (5, 6), lanes=8, work_bytes=1000, state_ns=2.0)


def test_parameters_of_the_target() -> None:
    assert (TARGET.abi, TARGET.stack, TARGET.part, TARGET.timeout) == (2, 98_304, 1000, 600.0)
    assert list(TARGET.flags) == FLAGS


@pytest.mark.parametrize("units", [1, 3])
def test_units_are_compiled_at_once_then_linked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, units: int) -> None:
    told: list[tuple[list[list[str]], Path, float, int]] = []

    def run(commands: Sequence[Sequence[str]], place: Path, timeout: float, at_once: int) -> None:
        if not told:
            assert [(place / f"unit{k}.c").read_text() for k in range(units)] == ["main", "part 1", "part 2"][:units]
        told.append(([list(command) for command in commands], place, timeout, at_once))

    monkeypatch.setattr(building, "run", run)
    monkeypatch.setattr(building, "cores", lambda: 5)
    text = Source("main", ("part 1", "part 2")[: units - 1], 64, True)
    compile_shared(text, COMPILER, tmp_path / "made.so")
    if units == 1:
        commands = [["/bin/cc", *FLAGS, "-shared", "unit0.c", "-o", "made.so", "-lm"]]
        assert told == [(commands, tmp_path, 600.0, 5)]
    else:
        commands = [["/bin/cc", *FLAGS, "-c", f"unit{k}.c", "-o", f"unit{k}.o"] for k in range(3)]
        link = ["/bin/cc", "-shared", "unit0.o", "unit1.o", "unit2.o", "-o", "made.so", "-lm"]
        assert told == [(commands, tmp_path, 600.0, 5), ([link], tmp_path, 600.0, 1)]
    assert not list(tmp_path.iterdir())


def test_a_library_is_kept_by_all_that_it_depends_on(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Sequence[str], str]] = []

    def fetch(parts: Sequence[str], said: str, make: Callable[[Path], None]) -> bytes:
        asked.append((parts, said))
        return b"library"

    monkeypatch.setattr(building, "find_compiler", lambda: COMPILER)
    monkeypatch.setattr(building.cache, "fetch", fetch)
    monkeypatch.setattr(building.trusted_folders, "library", lambda data: data)
    monkeypatch.setattr(building, "_kernel", lambda *arguments: arguments[1:])
    facts = Facts(5, 5, "0123456789abcdef", "1.2", "arm")
    assert building.build(toy(), facts, "float32") == (facts, np.dtype("float32"), b"library", "C, 1.0")
    units = source(toy(), facts, 32, split=True, loops=True).units
    parts = ["c", "2", "1.2", "/bin/cc", "cc 1", *FLAGS, *units]
    assert asked == [(parts, "arm id float32 0123456789ab")]


def loop(**options: Any) -> TimeLoop:
    takes = Take(0), Take(every=2)
    return TimeLoop(7, takes, (Give(0, 3), Give(1, 0, True), Give(COUNT)), **options)


def test_a_loop_as_numbers() -> None:
    """Steps, direction, outputs, what ends it; of each input where it is from, its rows, its size; of each output the
    same and whether it is summed."""
    ports = [0, 0, 3, -1, 2, 4, 0, 3, 0, 5, 1, 0, 1, 6, COUNT, 0, 0, 1]
    assert list(building._numbers(loop(), SHAPE)) == [7, 0, 3, -1, *ports]
    assert list(building._numbers(loop(backwards=True, until=1), SHAPE)) == [7, 1, 3, 1, *ports]


@pytest.mark.parametrize("until", [-1, 1])
def test_a_repeated_kernel(monkeypatch: pytest.MonkeyPatch, until: int) -> None:
    """Sizes with rows; more room for what is carried and summed; nothing where all states end together."""
    made: list[tuple[int, Shape]] = []
    monkeypatch.setattr(building, "_address", lambda library, symbol: 17 if symbol == "arm_id_repeat" else 0)
    monkeypatch.setattr(building, "entry_of", lambda address, shape, *_: made.append((address, shape)))
    kernel = CKernel(cast(Any, None), "arm_id", SHAPE, np.dtype("float32"), "C, 1.0")
    assert kernel.repeated(loop(until=until, together=True)) is None
    repeated = kernel.repeated(loop(until=until))
    assert repeated is not None and repeated.description == f"{'at most ' if until >= 0 else ''}7 steps a tile, C, 1.0"
    address, shape = made[-1]
    assert address == 17 and shape == Shape((3, 16), (15, 6, 1), 8, 1000 + (3 + 4 + 6) * 8 * 4, 14.0)


def test_a_workspace_has_room_for_its_alignment() -> None:
    """A vector more than there are slots, each of 64 bytes; a function whose workspace is small has a plain entry."""
    for program in (toy(), tangle(1, 3000)):
        made = source(program, Facts(5, 5), 64)
        slots = int(made.main.partition("_work(void)\n{\n    return ")[2].partition(" *")[0])
        assert made.work == (slots + 1) * LINE == most(program, cast(Any, SimpleNamespace(size=slots)))
        assert made.plain and f"unsigned char work[{slots} * sizeof(real_v) + 64];" in made.main
        name = f"robot_{program.name}"
        for stack, is_plain in ((made.work, True), (made.work - 1, False)):
            target = cast(Any, SimpleNamespace(stack=stack, cut=TARGET.cut, part=TARGET.part))
            again = source(program, Facts(5, 5), 64, target=target)
            assert again.plain is is_plain and (f"int {name}(size_t n" in again.main) is is_plain
    assert (real_of(64), real_of(32)) == ("double", "float")


def test_long_functions_are_units_of_so_many_operations() -> None:
    """A unit is full with the chunk that reaches the number."""
    program = tangle(1, 3000)
    whole = source(program, Facts(5, 5), 64, split=False)
    assert whole.parts == () and whole.units == (whole.main,)
    chunks = [len(step.nodes) for step in lower(program, TARGET.cut).steps if isinstance(step, Chunk)]
    units = [0]
    for operations in chunks:
        units = [*units, 0] if units[-1] >= TARGET.part else units
        units[-1] += operations
    found = source(program, Facts(5, 5), 64, split=True).parts
    assert len(found) == len(units) >= 2
    assert sum(part.count("CD_CHUNK void ") for part in found) == len(chunks)
