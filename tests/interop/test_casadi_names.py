"""CasADi: functions by name, and faults that are not taken for missing names."""

from __future__ import annotations

import pytest

import condyle

pytest.importorskip("casadi")
from condyle.interop.casadi import wrap


def test_a_fault_of_a_derivative_is_not_taken_for_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a function that there is not is told to leave inputs= out."""

    def faulty(*_: object) -> None:
        raise KeyError("erf")

    monkeypatch.setattr("condyle.compile.serial.Compiler.straight", faulty)
    with pytest.raises(KeyError, match="erf"):
        _ = wrap(condyle.chain(2, 1).compile(target="numpy")).mass_matrix


def test_methods_name_functions_too() -> None:
    F = wrap(condyle.chain(2, 1).compile(target="numpy"))
    assert F.function("mass_matrix") is F.function("m")
