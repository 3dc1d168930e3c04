"""Processors of embedded exports: answers and bits under emulators, and how instructions are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.backends.c import part_report
from condyle.backends.c.part_report import PARTS, compile_for, part_of, symbols
from condyle.errors import BuildError, UnsupportedError
from tests.backends.c.bare import answers, export, needs_parts, shown

EPS = float(np.finfo("float32").eps)
SIZES = {"id": (7,), "fd": (7,), "dfd": (49, 49, 49)}
INPUTS = {"id": "a", "fd": "tau", "dfd": "tau"}


@pytest.mark.slow
@needs_parts
def test_bits_are_equal_and_answers_are_those_of_the_guide(tmp_path: Path) -> None:
    """Without contraction all four processors and this one compute the same; id within the guide's 2e-5 and fd within
    16 eps times the condition number of M; NaN and infinities are answered by NaN."""
    robot = condyle.load("iiwa14")
    export(robot, tmp_path / "arm", "float32", tuple(SIZES))
    q, v = (x.astype("float32") for x in robot.random_state(8, 0))
    last = np.random.default_rng(0).uniform(-10, 10, v.shape).astype("float32")
    q[5, 1], q[6, 2], q[7, 3] = 5e3, -1e8, 3e30  # angles beyond the polynomials' reach
    bad = [np.array(x) for x in (q[:3], v[:3], last[:3])]
    bad[0][0, 1], bad[1][1, 0], bad[0][2, 3] = np.nan, np.inf, np.inf
    states = [*zip(q, v, last, strict=True), *zip(*bad, strict=True)]
    calls = [(function, state, sizes) for function, sizes in SIZES.items() for state in states]
    program = shown("iiwa14", calls, "float32")
    found = {
        name: answers(part, tmp_path / "arm", program, tmp_path / name, "float32", ["-ffp-contract=off"])
        for name, part in [("here", None), *PARTS.items()]
    }
    here = found.pop("here")
    nan = np.isnan(here)
    for name, there in found.items():
        assert np.array_equal(np.isnan(there), nan), name
        assert np.array_equal(there.view("uint32")[~nan], here.view("uint32")[~nan]), name
    dyn, start = robot.compile(target="numpy"), 0
    wide = [np.asarray(x, float) for x in (q, v, last)]
    want = {"id": dyn.inverse_dynamics(*wide), "fd": dyn.forward_dynamics(*wide), "dfd": None}
    condition = float(np.max(np.linalg.cond(dyn.mass_matrix(wide[0]))))
    for function, sizes in SIZES.items():
        block = here[start : start + len(states) * sum(sizes)].reshape(len(states), -1)
        start += block.size
        assert np.isnan(block[8:]).any(axis=1).all() and np.isfinite(block[:8]).all(), function
        if function != "dfd":  # its answers are held to the reference by the exported test
            scale = float(np.max(np.abs(want[function])))
            allowed = 2e-5 if function == "id" else 16 * EPS * condition
            assert float(np.max(np.abs(block[:8] - want[function]))) <= allowed * scale, function


@pytest.mark.slow
@needs_parts
def test_float64_has_equal_bits_where_there_are_instructions_for_it(tmp_path: Path) -> None:
    robot = condyle.load("iiwa14")
    export(robot, tmp_path / "arm", "float64", ("id",))
    q, v = robot.random_state(4, 0)
    q[3, 1] = 1e12
    program = shown("iiwa14", [("id", state, (7,)) for state in zip(q, v, v, strict=True)], "float64")
    chosen = {name: part for name, part in PARTS.items() if part.doubles}
    flags = ["-ffp-contract=off"]
    here = answers(None, tmp_path / "arm", program, tmp_path / "here", "float64", flags)
    for name, part in chosen.items():
        there = answers(part, tmp_path / "arm", program, tmp_path / name, "float64", flags)
        assert np.array_equal(there.view("uint64"), here.view("uint64")), name
    assert np.allclose(here.reshape(4, 7), robot.compile(target="numpy").inverse_dynamics(q, v, v), rtol=0, atol=1e-9)


@pytest.mark.slow
@needs_parts
def test_nothing_is_undefined_and_nothing_is_written(tmp_path: Path) -> None:
    """The link of the report has no library and fatal warnings; here each object alone, contracted or not."""
    robot = condyle.load("ur5e")
    export(robot, tmp_path, "float32", ("id", "step"))
    for part in PARTS.values():
        for contract in ("fast", "off"):
            names = ("ur5e_id", "ur5e_step")
            compile_for(
                part, tmp_path, [f"{name}.c" for name in names], ["-Werror", "-Wall", f"-ffp-contract={contract}"]
            )
            for name in names:
                kinds = {symbol: kind for symbol, (kind, _) in symbols(part, tmp_path / f"{name}.o").items()}
                assert not {symbol: kind for symbol, kind in kinds.items() if kind in "UuBbDdCGgSs"}, part.name


def test_a_call_lasts_until_it_leaves_the_library() -> None:
    def line(address: int) -> str:
        return f"Trace 0: 0x7f00 [00000000/{address:016x}/00000110/ff000201] name\n"

    trace = map(line, (4, 100, 104, 150, 154, 104, 8, 12, 100, 8, 150, 8))
    counted = part_report._counted(["Linking TBs\n", *trace], range(100, 200), {100: "id", 150: "fd"})
    assert counted == {"id": [5, 1], "fd": [1]}


def test_what_is_missing_is_said_with_its_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(BuildError, match=r"'rv64gc' needs .* riscv64-unknown-elf-gcc.*package gcc-riscv64-unknown-elf"):
        part_of("rv64gc", "float64").tool("gcc")


def test_parts_that_do_not_fit() -> None:
    with pytest.raises(UnsupportedError, match=r"part='cortex-m9' is not one of .*'cortex-m7'"):
        part_of("cortex-m9", "float32")
    with pytest.raises(UnsupportedError, match=r"'cortex-m4f' has no float64 .* dtype='float32'"):
        part_of("cortex-m4f", "float64")
