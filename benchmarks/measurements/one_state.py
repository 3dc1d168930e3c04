"""One state from Python: ours with an earlier answer as out= and with fresh outputs, beside Pinocchio in Python.

"nothing" is a Python call that does nothing, which is part of all of these. Without Python: our code for one state,
called in a loop in C, and Pinocchio's C++ in a loop in C++.
"""

from __future__ import annotations

from typing import Any

from benchmarks.bench import BATCH, Subject, fresh, pinned, reused
from benchmarks.kernels import Kernels
from benchmarks.rivals.pinocchio_python import PinocchioPython
from condyle.cli import rivals
from condyle.cli.rivals.rival import Rival
from condyle.errors import CondyleError
from condyle.functions import function_of


def measure(subject: Subject) -> dict[str, Any]:
    dynamics, states = subject.dynamics(), subject.states(BATCH)
    one, kernels = states.first(1), Kernels(subject.robot)
    others = _others(subject)
    functions: dict[str, Any] = {}
    for name in subject.functions:
        answer = dynamics.function(name)(*one.arguments(function_of(name)))
        outputs = answer if isinstance(answer, tuple) else (answer,)
        calls = {"condyle": reused(dynamics, name, one, outputs), "condyle-fresh": fresh(dynamics, name, one)}
        calls["nothing"] = lambda: None
        per = dict.fromkeys(calls, 1)
        for other, rival in others.items():
            if name in rival.algorithms:
                calls[other], per[other] = rival.call(name, states.arguments(function_of(name))), BATCH
        if kernel := kernels.one_state(name, states.arguments(function_of(name)), states.outputs(function_of(name))):
            calls["kernel"], per["kernel"] = kernel, BATCH
        with pinned():
            functions[name] = subject.times(calls, per)
    return {"functions": functions}


def _others(subject: Subject) -> dict[str, Rival]:
    others: dict[str, Rival] = {}
    try:
        others["pinocchio"] = rivals.opened("pinocchio", subject.robot)
        others["pinocchio-python"] = PinocchioPython(subject.robot)
    except CondyleError as error:
        print(f"one_state: {error}")
    return others
