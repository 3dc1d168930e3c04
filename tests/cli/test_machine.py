"""What a measurement says of the machine."""

from __future__ import annotations

import platform
import re
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle.cli import machine
from condyle.errors import BuildError
from condyle.runtime.native import cores

FULL = "processor : 0\ncpu family\t: 6\nmodel\t\t: 85\nmodel name\t: Fast: 3 GHz\n\nprocessor : 1\nmodel name : slow\n"


@pytest.mark.parametrize(
    ("text", "processor", "said"),
    [
        (FULL, "a processor", "Fast: 3 GHz (family 6 model 85)"),
        ("model name : Slow\n", "a processor", "Slow"),
        ("Features : fp\n", "a processor", "a machine"),
        (None, "a processor", "a processor"),
        (None, "", "a machine"),
    ],
)
def test_the_processor_is_the_first_one_of_the_list(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None, processor: str, said: str
) -> None:
    """text: that of the system's list, None where there is none."""
    listed = tmp_path / "cpuinfo"
    if text is not None:
        listed.write_text(text)
    monkeypatch.setattr(machine, "Path", {"/proc/cpuinfo": listed}.__getitem__)
    monkeypatch.setattr(platform, "machine", lambda: "a machine")
    monkeypatch.setattr(platform, "processor", lambda: processor)
    assert machine.cpu() == said


def test_what_is_not_there_is_said(monkeypatch) -> None:
    def missing() -> None:
        raise BuildError("none")

    monkeypatch.setattr(machine, "find_compiler", missing)
    monkeypatch.setattr(machine, "supported", tuple)
    assert (machine.compiler(), machine.instructions()) == ("no C compiler", "no machine code")
    assert machine.one_line() == f"{machine.cpu()}, {cores()} cores, no C compiler"


def test_versions_are_those_that_run() -> None:
    found = machine.describe()
    assert found["numpy"] == np.__version__ == metadata.version("numpy")
    assert (found["condyle"], found["python"]) == (condyle.__version__, platform.python_version())
    assert (found["cores"], found["system"]) == (cores(), f"{platform.system()} {platform.release()}")


def test_a_moment_is_in_utc_with_the_load_of_a_minute(monkeypatch) -> None:
    monkeypatch.setattr("os.getloadavg", lambda: (1.23456, 2.0, 3.0))
    found = machine.moment()
    assert found["load"] == 1.23
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", str(found["date"]))
    told = datetime.strptime(str(found["date"]), "%Y-%m-%d %H:%M UTC").replace(tzinfo=timezone.utc)
    assert 0 <= (datetime.now(timezone.utc) - told).total_seconds() < 3600
