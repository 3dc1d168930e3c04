"""What this machine can do, and when memory is asked about: limits by hand."""

from __future__ import annotations

import pytest

from condyle.errors import OutOfMemoryError
from condyle.runtime import machine

MIB = 1024**2


def test_machine_code_needs_an_instruction_set_and_memory_that_may_run(monkeypatch: pytest.MonkeyPatch) -> None:
    names = machine.instruction_sets.__wrapped__
    monkeypatch.setattr(machine, "_vector_bytes", dict)
    assert names() == ()
    monkeypatch.setattr(machine, "_vector_bytes", lambda: {"wide": 64, "narrow": 32})
    for error in (OSError, ValueError):

        def forbidden(*_: object, error: type[Exception] = error) -> None:
            raise error

        monkeypatch.setattr(machine, "plan", forbidden)
        assert names() == ()
    monkeypatch.setattr(machine, "plan", lambda *_: None)
    assert names() == ("wide", "narrow")


def test_the_best_instruction_set_of_a_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "_vector_bytes", lambda: {"best": 64, "good": 32, "slow": 32, "forbidden": 16})
    monkeypatch.setattr(machine, "instruction_sets", lambda: ("best", "good", "slow"))
    assert [machine.instruction_set_of(size) for size in (64, 32, 16, 8)] == ["best", "good", None, None]


def test_small_results_are_not_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available", lambda: 0)
    machine.check("f", 1, 256 * MIB - 1)
    machine.check("f", 1, 256 * MIB - 2, 1)
    for count, copies in ((256 * MIB, 0), (256 * MIB - 1, 1), (0, 256 * MIB)):
        with pytest.raises(OutOfMemoryError, match=r"and 0\.0 GB of memory"):
            machine.check("f", 1, count, copies)


def test_results_may_take_all_that_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available", lambda: 3_000_000_000)
    machine.check("f", 1, 2_000_000_000, 1_000_000_000)
    with pytest.raises(OutOfMemoryError) as info:
        machine.check("f", 7, 1_900_000_000, 1_100_000_001)
    assert str(info.value) == (
        "f: the results of 7 states take 1.9 GB and copies of inputs that are broadcast or no plain rows 1.1 GB, and "
        "3.0 GB of memory are free: call it for fewer states at a time, with out= for the results of each part; "
        "float32 and packed arrays take less"
    )
    with pytest.raises(OutOfMemoryError, match=r"f: the results of 7 states take 3\.1 GB, and 3\.0 GB of memory"):
        machine.check("f", 7, 3_100_000_000)


def test_nothing_is_refused_where_the_system_does_not_say_what_is_free(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "available", lambda: None)
    machine.check("f", 1, 1 << 60, 1 << 60)
