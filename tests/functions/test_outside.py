"""A function that is defined outside the library is served like its own: nothing in src names it.

Its values, packed and dense, one state and many, are held to the reference in `tests/laws/test_specification.py`.
"""

from __future__ import annotations

import json
import pickle
import subprocess
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from condyle.cli import main
from condyle.functions import FUNCTIONS, registered
from condyle.runtime.toolchain import find_compiler
from condyle.specification import Function
from tests.functions.first_moment import FIRST_MOMENT

NAME = FIRST_MOMENT.name
SOURCE = Path(condyle.__file__).parent


@pytest.fixture(autouse=True)
def known() -> Iterator[Function]:
    with registered(FIRST_MOMENT):
        yield FIRST_MOMENT


def test_nothing_in_the_library_names_it() -> None:
    for path in SOURCE.rglob("*.py"):
        text = path.read_text()
        assert NAME not in text and FIRST_MOMENT.method not in text, path


def test_it_is_known_while_it_is_registered() -> None:
    assert NAME in FUNCTIONS
    with pytest.raises(ValueError, match="already"), registered(FIRST_MOMENT):
        pass


def test_a_method_a_signature_a_route_and_memory() -> None:
    robot = condyle.load("iiwa14")
    for target in ("numpy", "cpu"):
        dyn = robot.compile(target=target)
        assert dyn.signature[NAME] == "(nq)->(3)"
        assert f"{NAME} sweep" in " ".join(dyn.explain(5).split())
        assert dyn.memory(2)[NAME] == 2 * 8 * (7 + 3)
        q = robot.neutral()
        found = dyn.first_moment_of_mass(q)
        assert found.shape == (3,) and np.array_equal(found, dyn.function(NAME)(q=q))
        assert dyn.first_moment_of_mass(np.stack([q, q]), out=np.zeros((2, 3))).shape == (2, 3)
        assert np.array_equal(pickle.loads(pickle.dumps(dyn)).first_moment_of_mass(q), found)
        with pytest.raises(TypeError):
            dyn.first_moment_of_mass(q, f_ext=np.zeros((7, 6)))


def test_commands_serve_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", "iiwa14"]) == 0
    assert f"{NAME} against the reference" in capsys.readouterr().out
    assert main(["info", "iiwa14", "--counts", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["counts"]
    assert next(row for row in rows if row["function"] == NAME)["route"] == "sweep"
    assert main(["bench", "iiwa14", "--functions", NAME, "--batch", "16"]) == 0
    assert NAME in capsys.readouterr().out


def test_its_c_project_passes_its_own_test(tmp_path: Path) -> None:
    assert main(["export", "hyq", "--floating-base", "--target", "c", "--functions", NAME, "--out", str(tmp_path)]) == 0
    sources = [str(path) for path in tmp_path.glob("*.c")]
    subprocess.run([find_compiler().path, "-O1", *sources, "-lm", "-o", str(tmp_path / "check")], check=True)
    subprocess.run([str(tmp_path / "check")], check=True, capture_output=True)
    header = (tmp_path / "hyq.h").read_text()
    assert f"hyq_{NAME}" in header and FIRST_MOMENT.outputs[0].doc in (tmp_path / f"hyq_{NAME}.c").read_text()


def test_its_cuda_header_has_kernels_and_a_method(tmp_path: Path) -> None:
    condyle.export(condyle.load("iiwa14"), "cuda", tmp_path, (NAME, "id"))
    header = (tmp_path / "iiwa14.cuh").read_text()
    assert f"{NAME}_launch" in header and FIRST_MOMENT.method in header


def test_hardware_refuses_it_in_words(tmp_path: Path) -> None:
    """Functions of hardware need a plan, which this one has not."""
    with pytest.raises(UnsupportedError, match=f"'{NAME}'.*'id'"):
        condyle.export(condyle.load("iiwa14"), "verilog", tmp_path, (NAME,))
