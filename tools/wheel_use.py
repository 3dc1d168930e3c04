"""Uses an installed wheel as a user without a compiler does; prints what it is, as JSON. It runs without the tree."""

from __future__ import annotations

import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import condyle
from condyle.runtime import machine

assert not any(shutil.which(name) for name in ("cc", "gcc", "clang")), "there is a compiler on the path"
assert "site-packages" in Path(condyle.__file__).parts, "this is not the installed package"
robot = condyle.load("iiwa14")
q, v = robot.random_state(64, 0)
tau = np.ones_like(v)
wanted = robot.compile(target="numpy").forward_dynamics(q, v, tau)
if machine.instruction_sets():
    dyn = robot.compile(threads=2)
    found = dyn.forward_dynamics(q, v, tau)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
try:
    robot.compile(target="c").forward_dynamics(q, v, tau)
    raise AssertionError("target c ran without a compiler")
except condyle.BuildError as error:
    said = str(error)
assert "no C compiler found" in said and 'target="numpy"' in said, said
facts = {
    "condyle": condyle.__version__,
    "numpy": version("numpy"),
    "python": sys.version.split()[0],
    "machine code": "/".join(machine.instruction_sets()) or "none",
    "GIL": "on" if getattr(sys, "_is_gil_enabled", lambda: True)() else "off",
}
print(json.dumps(facts))
