"""CasADi: functions by name, what is missing, and faults that are not taken for missing names."""

from __future__ import annotations

import sys

import pytest

import condyle
from condyle.errors import UnsupportedError

pytest.importorskip("casadi")
from condyle.interop.casadi import wrap


def test_a_fault_of_a_derivative_is_not_taken_for_a_missing_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only a function that there is not is told to leave inputs= out."""

    def faulty(*_: object) -> None:
        raise KeyError("erf")

    monkeypatch.setattr("condyle.compile.compiler.Compiler.straight", faulty)
    with pytest.raises(KeyError, match="erf"):
        _ = wrap(condyle.chain(2, 1).compile(target="numpy")).mass_matrix


@pytest.mark.smoke
def test_methods_name_functions_too() -> None:
    F = wrap(condyle.chain(2, 1).compile(target="numpy"))
    assert F.function("mass_matrix") is F.function("m")


def test_a_missing_package_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "casadi", None)
    with pytest.raises(UnsupportedError, match="pip install"):
        wrap(condyle.chain(2, 1).compile(target="numpy"))
