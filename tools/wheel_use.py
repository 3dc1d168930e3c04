"""Uses an installed wheel as a reader of its page does: the README's first example, `condyle check`, the messages.

python wheel_use.py TARGET    what it is, as JSON; TARGET is what target "cpu" must mean here: cpu, c or numpy

It runs without the tree. For "cpu" and "numpy" there must be no compiler on the path.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import shutil
import sys
from importlib.metadata import metadata, version
from pathlib import Path

import numpy as np

import condyle
from condyle.cli import main
from condyle.runtime import machine

(target,) = sys.argv[1:]
assert "site-packages" in Path(condyle.__file__).parts, "this is not the installed package"
page = str(metadata("condyle").get_payload())
example = re.search(r"^```python\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
assert example is not None, "the wheel's description is not the README"
values: dict[str, object] = {}
exec(example[1], values)
assert getattr(values["dyn"], "target", None) == target, f'"cpu" means {getattr(values["dyn"], "target", None)}'

robot = condyle.load("iiwa14")
q, v = robot.random_state(64, 0)
tau = np.ones_like(v)
wanted = robot.compile(target="numpy").forward_dynamics(q, v, tau)
np.testing.assert_allclose(robot.compile(threads=2).forward_dynamics(q, v, tau), wanted, rtol=1e-9, atol=1e-9)

said = io.StringIO()
with contextlib.redirect_stdout(said):
    status = main(["check", "iiwa14"])
assert status == 0, said.getvalue()

if target != "c":
    assert not any(shutil.which(name) for name in ("cc", "gcc", "clang")), "there is a compiler on the path"
    try:
        robot.compile(target="c").forward_dynamics(q, v, tau)
        raise AssertionError("target c ran without a compiler")
    except condyle.BuildError as error:
        message = str(error)
    assert "no C compiler found" in message and 'target="numpy"' in message, message
facts = {
    "condyle": condyle.__version__,
    "numpy": version("numpy"),
    "python": sys.version.split()[0],
    "machine code": "/".join(machine.instruction_sets()) or "none",
    "GIL": "on" if getattr(sys, "_is_gil_enabled", lambda: True)() else "off",
    "check": said.getvalue().splitlines()[-1],
}
print(json.dumps(facts))
