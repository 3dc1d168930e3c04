"""Functions that CasADi saved, in another process: the same robot's, or an error."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytest.importorskip("casadi")

SAVED = """
import sys
import casadi, condyle, numpy as np
from condyle.interop.casadi import wrap
wrapped = wrap(condyle.chain(1, int(sys.argv[2])).compile()).potential_energy     # which a loader keeps
print(float(wrapped(0.3)), wrapped.name())
if sys.argv[3] == "save":
    wrapped.save(sys.argv[1])
else:
    try:
        print(float(casadi.Function.load(sys.argv[1])(0.3)))
    except Exception as error:
        print("refused" if "/proc/self/fd" in str(error) else error)
"""


@pytest.mark.slow
def test_a_saved_function_is_never_another_robots(tmp_path):
    """CasADi saves the path and the name; in the next process both led to the library that was loaded first there."""
    path = tmp_path / "saved.casadi"

    def run(seed, way):
        command = [sys.executable, "-c", SAVED, str(path), str(seed), way]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\n")

    own = run(0, "save")[0]
    assert run(0, "load")[:2] == [own, own.split()[0]]  # of the same robot it is found
    other, loaded_there = run(5, "load")[:2]
    assert loaded_there == "refused"
    assert all(x != y for x, y in zip(own.split(), other.split(), strict=True))  # the name too
