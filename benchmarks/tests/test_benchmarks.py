"""Tables and goals are made from a results file, number by number; each measurement measures something."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from benchmarks import functions_table, goals, results, run, sections, tables
from benchmarks.bench import Subject
from benchmarks.robots import Case
from condyle.cli.bound import Sampling
from condyle.cli.states import draw
from condyle.functions import FUNCTIONS


def spread(median: float) -> dict[str, float]:
    return {"median": median, "minimum": median, "low": median, "high": median}


def cells(**medians: float) -> dict[str, Any]:
    return {engine.replace("_", "-"): spread(median) for engine, median in medians.items()}


def found() -> dict[str, Any]:
    against = {
        "nv": 7,
        "batch": 256,
        "date": "2026-01-02 03:04 UTC",
        "commit": "0123456789abcdef",
        "functions": {
            "id": {"ns": cells(condyle=12.5, pinocchio=600.0, casadi=100.0)},
            "dfd": {"ns": cells(condyle=200.4, pinocchio=2404.8, casadi=1e6)},
        },
        "rivals": {
            "pinocchio": {"version": "4", "compiler": "clang", "flags": "-O3", "algorithms": {}},
            "casadi": {"algorithms": {"id": "rnea", "dfd": "by finite differences"}},
        },
        "absent": {"mujoco": {"": "not installed"}},
    }
    batches = {n: {"bytes": 8, **cells(condyle=ns, floor_cached=9.0, floor_streamed=5.0)} for n, ns in BATCHES.items()}
    return {
        "against": {"panda": against},
        "outputs": {"panda": {"functions": {"id": {"256": cells(fresh=13.0, reused=10.0)}}}},
        "number_types": {"panda": {"functions": {"id": {"256": cells(float64=10.0, float32=5.0)}}}},
        "threads": {"panda": {"functions": {"id": {"64": {"1": spread(10), "2": spread(11)}}}}},
        "batches": {"panda": {"functions": {"id": batches}}},
    }


SLOW = ("against", "compiling", "one_state")  # they build Pinocchio, or start processes
BATCHES = {"16": 20.0, "256": 10.0, "65536": 10.0}


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(tables, "ROOT", tmp_path)
    path = tmp_path / "2026-01-02-some-cpu-2c.json"
    machine = {"cpu": "some cpu", "cores": 2, "instructions": "machine code"}
    results.write(path, {"machine": machine, "measurements": found()})
    return path


def test_speed_quotes_the_newest_file_of_each_machine(path: Path) -> None:
    (path.parent / "2025-12-31-some-cpu-2c.json").write_text("an older one")
    other = path.parent / "2025-01-01-another-cpu-2c.json"
    results.write(other, {"machine": {"cpu": "another cpu"}, "measurements": {}})
    assert results.newest() == [other, path]
    text = tables.table(results.newest())
    assert "| panda | 7 | 12.5 (48.0) | - | - | - | - | 200 (12.0) | - |" in text
    assert "some cpu" in text and "0123456789" in text and "clang" in text
    assert "C by CasADi 8 to 8." in text


def test_figures_of_an_earlier_day_are_marked(path: Path) -> None:
    other = path.parent / "2025-01-01-another-cpu-2c.json"
    results.write(other, {"machine": {"cpu": "another cpu"}, "measurements": {}})
    older, newer = tables.page([other, path]).split("## some cpu")
    assert "of 2025-01-01; the code has changed since" in older and "has changed" not in newer


def test_the_page_has_every_measurement_and_says_who_is_absent(path: Path) -> None:
    text = tables.page([path])
    for name in found():
        assert f"## {sections.SECTIONS[name][0]}\n" in text
    assert "| casadi | 100 (8.00) |" in text
    assert "mujoco is absent: not installed" in text
    assert "| panda | 256 | 1.30 |" in text
    assert "10.0 (2.00)" in text


def test_goals_say_what_is_met() -> None:
    measured = found()
    assert [number.met for number in goals.ratios(measured)] == [True, False]
    assert [number.measured for number in goals.small_batches(measured)] == [0.5]
    assert [number.measured for number in goals.large_batches(measured)] == [2.0]
    missed = goals.missed(measured)
    assert any("panda dfd 12 (26)" in line for line in missed)
    assert any("panda id N=64 0.909 (0.97)" in line for line in missed)
    assert not any("float32" in line for line in missed)
    lines = goals.lines(measured)
    assert len(lines) == 2 + len(goals.GOALS)
    assert any("1 of 2 | panda dfd | 12 (26) |" in line for line in lines)


def test_functions_say_what_is_met() -> None:
    cell = {"ns": cells(dense=20.0, packed=10.0, pinocchio=300.0), "bytes": [56, 96]}
    row = functions_table.row("panda", "fk", cell)
    assert " ".join(row).strip() == "fk 20.0 10.0 300 15.0 (30.0) 20 no 56 + 96"
    with_parts = {**cell, "parts": cells(rows=4.0, kernel=15.0, arithmetic=3.0)}
    assert functions_table.row("panda", "fk", with_parts)[-1] == "4.00 + 12.0 + 3.00"
    assert functions_table.row("panda", "jac", cell)[5:7] == ["15", "yes"]
    assert functions_table.row("panda", "pe", cell)[5:7] == ["", ""]


def test_runs_are_merged_into_one_file(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    results.merge("outputs", "a", {"functions": {"id": 1.23456789}}, path)
    results.merge("outputs", "b", {}, path)
    results.merge("threads", "a", {}, path)
    whole = json.loads(path.read_text())
    assert whole["machine"]["numpy"]
    measured = whole["measurements"]
    assert set(measured) == {"outputs", "threads"}
    assert measured["outputs"]["a"]["functions"]["id"] == 1.2346
    assert all(entry["date"] and entry["commit"] for of in measured.values() for entry in of.values())


def test_code_outside_a_checkout_has_a_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also in a folder of another checkout, and without git; what was built does not count."""
    head = results.commit()
    assert re.fullmatch(r"[0-9a-f]{40}(\+changes)?|src:[0-9a-f]{64}", head)
    for name in ("src/condyle/a.py", "benchmarks/b.py", "experiments/paper/c.py"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    monkeypatch.setattr(results, "ROOT", tmp_path)
    first = results.commit()
    assert re.fullmatch("src:[0-9a-f]{64}", first)
    (tmp_path / "src/condyle/__pycache__").mkdir()
    for built in ("src/condyle/__pycache__/a.pyc", "src/condyle/a.so"):
        (tmp_path / built).write_text("built here")
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=False)
    monkeypatch.setattr(results, "ROOT", tmp_path / "copy")
    shutil.copytree(tmp_path, tmp_path / "copy", ignore=lambda folder, names: {"copy", ".git"})
    assert results.commit() == first
    monkeypatch.setattr(shutil, "which", lambda name: None)
    assert results.commit() == first
    (tmp_path / "copy/src/condyle/a.py").write_text("another")
    assert results.commit() != first


def test_rows_of_another_processor_name_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "results.json"

    def merged(cpu: str, row: str) -> tuple[str, dict[str, str | None]]:
        monkeypatch.setattr(results, "machine", lambda: {"cpu": cpu})
        results.merge("part", row, {}, path)
        whole = json.loads(path.read_text())
        return whole["machine"]["cpu"], {name: row.get("cpu") for name, row in whole["measurements"]["part"].items()}

    assert merged("old", "a") == ("old", {"a": None})
    assert merged("old", "b") == ("old", {"a": None, "b": None})
    assert merged("new", "b") == ("old", {"a": None, "b": "new"})
    assert merged("new", "a") == ("new", {"a": None, "b": None})


def test_every_results_file_has_a_certificate() -> None:
    for path in results.FOLDER.glob("*.json"):
        about = json.loads(path.read_text())
        entries = [entry for of in about.get("measurements", {}).values() for entry in of.values()] or [about]
        assert all(entry["date"] and entry["commit"] for entry in entries)
        assert not any(entry.get("quick") for entry in entries)


@pytest.mark.parametrize("name", [name for name in run.MEASUREMENTS if name not in SLOW])
def test_a_measurement_measures(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = import_module(f"benchmarks.measurements.{name}")
    if hasattr(module, "BATCHES"):
        monkeypatch.setattr(module, "BATCHES", module.BATCHES[:2])
    subject = Subject(Case("iiwa14", "iiwa14"), ("id",), Sampling(samples=2, sample_s=1e-5, longest_s=0.1))
    measured = module.measure(subject)
    if not measured:
        pytest.skip("this machine has not what it needs: two cores, or a processor that machine code is written for")
    cell = measured["functions"]["id"]
    for of in [cell] if name in ("peak", "parts") else cell.values():
        engines = [ns for ns in of.values() if isinstance(ns, dict)]
        assert len(engines) >= 2
        assert all(0 < ns["minimum"] <= ns["median"] for ns in engines)


def test_the_kernel_alone_stays_below_the_peak() -> None:
    from benchmarks.measurements.peak import measure

    subject = Subject(Case("iiwa14", "iiwa14"), ("id",), Sampling(samples=40, sample_s=1e-3))
    for cell in measure(subject).get("functions", {}).values():
        assert 0.05 < cell["share"] < 1.1
        assert cell["peak_gflops"] > 5


def test_moving_more_bytes_takes_longer() -> None:
    from benchmarks.probes import mover
    from condyle.cli.bound import interleaved

    for streaming in (False, True):
        few, many = ([np.zeros(n), np.ones(n)] for n in (1 << 17, 1 << 20))
        calls = {"few": mover(few[:1], few[1:], streaming), "many": mover(many[:1], many[1:], streaming)}
        found = interleaved(calls, Sampling(samples=5, sample_s=1e-3))
        assert found["many"].minimum > 3 * found["few"].minimum
        assert (many[1][8:-8] == 0).all(), "all lines were written, with the sum of what was read"


def test_compiling_is_measured_in_a_process_of_its_own() -> None:
    from benchmarks.first_calls import one

    row = one("iiwa14", ["id", "m"])
    assert set(row["first_call_s"]) == {"id", "m"}
    assert row["all_s"] == pytest.approx(sum(row["first_call_s"].values()))
    assert row["peak_mb"] >= row["resident_before_mb"] > 0


def test_without_sines_a_program_takes_them_as_an_input() -> None:
    from benchmarks.kernels import Kernels, without_sines
    from condyle.ir.count import tally
    from condyle.ir.interp import run as meaning
    from condyle.ir.program import Program
    from condyle.operations import TRIGONOMETRIC

    program = Kernels(condyle.load("iiwa14")).compiler.code(FUNCTIONS["id"])
    assert isinstance(program, Program)
    bare = without_sines(program)
    assert not any(tally(bare)[op] for op in TRIGONOMETRIC)
    rng = np.random.default_rng(0)
    rows = [rng.uniform(-1, 1, (3, array.size)) for array in program.inputs]
    taken = [node for node in program.nodes if node[0] in TRIGONOMETRIC]
    sines = [getattr(np, op)(rows[0][:, program.nodes[angle][2]]) for op, angle in taken]
    (expected,), (found,) = meaning(program, rows), meaning(bare, [*rows, np.stack(sines, axis=-1)])
    np.testing.assert_array_equal(found, expected)


def test_the_form_for_one_state_is_called_alone() -> None:
    from benchmarks.kernels import Kernels

    robot = condyle.load("iiwa14")
    states = draw(robot, 3, "float64", [FUNCTIONS["fd"]])
    arrays, out = states.arguments(FUNCTIONS["fd"]), states.outputs(FUNCTIONS["fd"])
    call = Kernels(robot).one_state("fd", arrays, out)
    if call is None:
        pytest.skip("this processor has neither AVX2 nor AVX-512")
    call()
    expected = robot.compile(target="numpy").forward_dynamics(*(array[-1] for array in arrays))
    np.testing.assert_allclose(out[0][0], expected, rtol=1e-9)


def test_functions_of_one_state_have_calls() -> None:
    """All but Pinocchio's, which takes minutes to build."""
    from benchmarks.functions import NAMES, Framed
    from benchmarks.measurements.packed import packed
    from benchmarks.run import QUICK

    subject = Framed(Case("panda", "panda"), NAMES, QUICK)
    dynamics, states = subject.dynamics(), subject.states(3)
    for name in NAMES:
        packed(dynamics, name, states)()
