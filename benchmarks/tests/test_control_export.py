"""The exported step beside the library's."""

from __future__ import annotations

import shutil

import pytest

from benchmarks import control_export, control_instructions


@pytest.mark.slow
def test_the_exported_step_answers_the_same_and_allocates_nothing() -> None:
    """Rounding of float64 grows to 1e-14 here; 1e-10 leaves room for other compilers."""
    found = control_export.measure(quick=True)["iiwa14, all limits, float64"]
    assert max(found["difference"].values()) < 1e-10 and not found["allocates"]
    assert {"memset", "memmove"} & set(found["calls"]) and found["C by library"] > 0.0


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_steps_take_the_same_number_of_instructions() -> None:
    """Within 2 %: what differs is Python's own; a line search that tries twice takes more."""
    found = control_instructions.measure(quick=True)
    assert found is not None and found["float64"]["counted"] == control_instructions.RUN
    assert found["float64"]["spread"] < 0.02
