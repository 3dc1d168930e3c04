"""Exit statuses, and `python -m condyle`."""

from __future__ import annotations

import subprocess
import sys

import pytest


def test_no_command_is_bad_use(run) -> None:
    ran = run()
    assert ran.status == 2
    assert "COMMAND" in ran.err


@pytest.mark.parametrize(
    "words",
    [
        ("info",),
        ("info", "iiwa14", "--lock", "novalue"),
        ("bench", "iiwa14", "--batch", "0"),
        ("bench", "iiwa14", "--batch", "4,many"),
        ("bench", "iiwa14", "--functions", "id,nonsense"),
        ("export", "iiwa14", "--target", "fortran", "--out", "x"),
        ("cache", "burn"),
    ],
)
def test_bad_words_are_bad_use(run, words) -> None:
    ran = run(*words)
    assert ran.status == 2
    assert ran.out == ""


def test_a_missing_file_is_named(run) -> None:
    ran = run("info", "no-such-robot.urdf")
    assert ran.status in (1, 2)
    assert "no-such-robot.urdf" in ran.err
    assert "Traceback" not in ran.err


def test_a_broken_model_is_found_wanting(run, pendulum) -> None:
    ran = run("info", pendulum(text='<robot name="x"><link name="a"/><link name="a"/></robot>'))
    assert ran.status == 1
    assert ran.err.startswith("condyle: ")


def test_python_m_condyle_is_the_same_command() -> None:
    done = subprocess.run([sys.executable, "-m", "condyle", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert done.stdout.startswith("usage: condyle")
