"""What users mistake most often ends in an error that names the argument, never in one of Python's own from inside."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import CondyleError, Contact
from condyle.ground import Ground, Plane
from condyle.model.placement import Placement

R = condyle.chain(3, rng=0)
DYN = R.compile()
Q, V = R.random_state(4, 0)
TIP = [*R.frames][-1]
STEPS = np.zeros((5, 3))

WRONG: list[tuple[str, Callable[[], object]]] = [
    ("forward_dynamics: journal=3; name a file", lambda: DYN.map("fd", [Q, V, V], V.copy(), journal=3)),
    ("forward_dynamics: chunk=1.5, expected an integer", lambda: DYN.map("fd", [Q, V, V], V.copy(), chunk=1.5)),
    ("forward_dynamics: the sink is NoneType, expected", lambda: DYN.map("fd", [Q, V, V], None)),
    ("forward_dynamics: the source is NoneType, expected a list", lambda: DYN.map("fd", None, V.copy())),
    ("forward_dynamics: the source is ndarray, expected a list", lambda: DYN.map("fd", Q, V.copy())),
    ("forward_dynamics: the source is dict, expected a list", lambda: DYN.map("fd", {"q": Q}, V.copy())),
    ("forward_dynamics: the source is int, expected a list", lambda: DYN.map("fd", iter([3]), V.copy())),
    ("n='a': give a whole number from 0 on", lambda: DYN.explain("a")),
    ("n=-1: give a whole number from 0 on", lambda: DYN.memory(-1)),
    ("functions='fd': give a list of short names, such as ('fd',)", lambda: DYN.explain(1, "fd")),
    ("pack: port is ndarray, expected a name", lambda: DYN.pack(Q, V)),
    ("rollout: by_time=1: give names", lambda: DYN.rollout(Q[0], V[0], STEPS, 0.1, by_time=1)),
    ("frames: ['a'] is no name", lambda: R.compile(frames=[["a"]])),
    ("contacts=3: give a list of condyle.Contact", lambda: R.compile(contacts=3)),
    ("device, kernels: these are options of target 'cuda', and target 'cpu'", lambda: R.compile(device=0)),
    (f"contact '{TIP}': gains=('a', 2); give (kp, kd)", lambda: Contact(TIP, gains=("a", 2))),
    (f"contact '{TIP}': anchor=3: give a", lambda: Contact(TIP, anchor=3)),
    (f"contact '{TIP}': placement=(0, 1): give a", lambda: Contact(TIP, placement=(0, 1))),
    ("dt is 'a', expected the seconds", lambda: R.show(trajectory=STEPS, dt="a", file="a.svg")),
    ("spacing='a', expected metres", lambda: R.show(spacing="a", file="a.svg")),
    ("forces=[0, 1], expected a dict", lambda: R.show(forces=[0, 1], file="a.svg")),
    ("points=[0, 1], expected a dict", lambda: R.show(points=[0, 1], file="a.svg")),
    ("file=3: name a .svg or a .png file", lambda: R.show(file=3)),
    ("snap='a', expected an angle", lambda: condyle.load("iiwa14", snap="a")),
    ("assets=3, expected several folders", lambda: condyle.load("iiwa14", assets=3)),
    ("gravity=9.81: expected shape (3,), got (); give X, Y, Z in m/s^2", lambda: condyle.load("iiwa14", gravity=9.81)),
    ("export: the robot is 'iiwa14', expected what", lambda: condyle.export("iiwa14", "c", "out")),
    ("export: the robot is 'iiwa14', expected what", lambda: condyle.export("iiwa14", "verilog", "out")),
    ("operation_counts: the robot is 'iiwa14'", lambda: condyle.operation_counts("iiwa14")),
    ("fixed_point: the robot is 'iiwa14'", lambda: condyle.fixed_point("iiwa14")),
    ("functions=3: give a list of short names", lambda: condyle.fixed_point(R, functions=3)),
    ("word=18: give text, such as '27x18'", lambda: condyle.fixed_point(R, word=18)),
    ("word=18: give text, such as '27x18'", lambda: condyle.export(R, "verilog", "out", word=18)),
    ("dsp='a': give a number, in DSPs", lambda: condyle.export(R, "verilog", "out", dsp="a")),
    ("clock='a': give a number, in MHz", lambda: condyle.export(R, "verilog", "out", clock="a")),
    ("dsp=1.5: give the largest number of DSPs, a whole", lambda: condyle.export(R, "verilog", "out", dsp=1.5)),
    ("clock=0: give a frequency in MHz, above 0", lambda: condyle.export(R, "verilog", "out", clock=0)),
    ("f_ext=0: give the largest component", lambda: condyle.export(R, "verilog", "out", f_ext=0)),
    ("step=-1: give the integration step in seconds", lambda: condyle.export(R, "verilog", "out", step=-1)),
    ("pipeline=1.5: allowed is 0 to 3", lambda: condyle.export(R, "verilog", "out", pipeline=1.5)),
    ("pipeline='a': allowed is 0 to 3", lambda: condyle.export(R, "verilog", "out", pipeline="a")),
    ("folding='a': the branches of this robot allow 1", lambda: condyle.export(R, "verilog", "out", folding="a")),
    ("f_ext='a': give a number, in N and N m", lambda: condyle.export(R, "verilog", "out", f_ext="a")),
    ("target 'c' does not take these options: word", lambda: condyle.export(R, "c", "out", word="32")),
    ("physical_inertias: pi is <U1, expected real numbers", lambda: condyle.physical_inertias("a")),
    ("chain: rng='a': give a seed", lambda: condyle.chain(3, rng="a")),
    ("random_tree: rng='a': give a seed", lambda: condyle.random_tree(3, rng="a")),
    ("types=3: allowed is 'revolute'", lambda: condyle.random_tree(3, types=3)),
    ("function: 3 is no function", lambda: R.function(3, {"q": "nq"})),
    ("sizes=3: give a dict", lambda: R.function(lambda at: at.q, {"q": "nq"}, sizes=3)),
    ("<lambda>: multiple values for argument 'u'; by inputs=['q', 'u'] its arguments are (at, u)",
     lambda: R.function(lambda u: u, {"q": "nq", "u": 2})),
    ("<lambda>: got an unexpected keyword argument 'u'", lambda: R.function(lambda at: at.q, {"q": "nq", "u": 2})),
    ("floating_base='no', expected True or False", lambda: condyle.load("iiwa14", floating_base="no")),
    ("strict='no', expected True or False", lambda: condyle.load("iiwa14", strict="no")),
    ("assets: 3 is no path of a folder", lambda: condyle.load("iiwa14", assets=[3])),
    ("assets: 'nowhere' is not a folder", lambda: condyle.load("iiwa14", assets=["nowhere"])),
    ("error: aaaa", lambda: condyle.load("a" * 5000)),
    ("close_velocity: this robot has no loops", lambda: R.close_velocity(Q, V)),
    ("n=1000000000000 joints: give at most 65536", lambda: condyle.chain(10**12)),
    ("n=1000000000000 joints: give at most 65536", lambda: condyle.random_tree(10**12)),
    ("n=1000000000000000 random states do not fit into memory", lambda: R.random_state(10**15, 0)),
    ("n=True random states: give a whole number", lambda: R.random_state(True, 0)),
    ("Contact: frame=None: give a name", lambda: Contact(None)),
    ("Contact: other=3: give a name", lambda: Contact(TIP, other=3)),
    ("there is no function 'foo'; there are id", lambda: DYN.kernel("foo")),
    (f"contact '{TIP}': anchor=<Placement", lambda: Contact(TIP, anchor=Placement(np.ones((3, 3)), np.zeros(3)))),
    (f"contact '{TIP}': placement=<Placement",
     lambda: Contact(TIP, placement=Placement(np.eye(3), np.full(3, np.nan)))),
    ("Ground.step: the robot is 3, expected", lambda: Ground([TIP]).step(3)),
    ("Plane.step: the robot is 3, expected", lambda: Plane((0, 0, 1)).step(3, [])),
    ("function: the source has 0 arrays, expected",
     lambda: R.function(lambda at: at.q, {"q": "nq"}).compile().map([], V)),
    ("routes='fd': name the function too", lambda: condyle.operation_counts(R, "fd")),
    ("from_log_cholesky: theta: could not convert", lambda: condyle.from_log_cholesky("a")),
    ("threads=True: give a whole number", lambda: R.compile(threads=True)),
    (f"n={10**30}: give a whole number from 0 to 1073741824", lambda: DYN.explain(10**30)),
    ("rollout: every=2 and last=True: give one", lambda: DYN.rollout(Q[0], V[0], STEPS, 0.1, every=2, last=True)),
    ("forward_dynamics: q has masked entries: pass q.filled",
     lambda: DYN.forward_dynamics(np.ma.masked_array(Q, Q > 0), V, V)),
    ("forward_dynamics: out is no NumPy array: memoryview",
     lambda: DYN.forward_dynamics(Q, V, V, out=memoryview(V.copy()))),
    ("forward_dynamics: out is no NumPy array: dict", lambda: DYN.forward_dynamics(Q, V, V, out={"a": V})),
    ("forward_dynamics: out has 2 arrays, expected 1: a", lambda: DYN.forward_dynamics(Q, V, V, out=[V, V])),
    ("inputs: 'u' has the size 'n', which is not known; did you mean 'nv' or 'nq'?; sizes=",
     lambda: R.function(lambda at, u: u, {"u": "n"})),
    ("inputs: 'u' has the size 0; a size is (), a number from 1 to 16777216",
     lambda: R.function(lambda at, u: u, {"u": 0})),
    ("jacobian(function, by=('x',)): give some of its inputs",
     lambda: R.function(lambda at: at.q, {"q": "nq"}).compile().jacobian(by=("x",))),
]  # fmt: skip

CALLS: list[tuple[str, Callable[[], object]]] = [
    ("forward_dynamics: missing a required argument: 'tau'; call forward_dynamics(q, v, tau, f_ext=None, out=None)",
     lambda: DYN.forward_dynamics(Q, V)),
    ("mass_matrix: got an unexpected keyword argument 'inertias'; call mass_matrix(q, out=None); compile(inputs=",
     lambda: DYN.mass_matrix(Q, inertias=R.inertias)),
    ("vjp_rollout: missing a required argument: 'q_bar'", lambda: DYN.vjp("rollout")(Q, V, V[:, None], 0.1)),
    ("rollout: got an unexpected keyword argument 'gravity'; compile(inputs=('gravity',)) makes gravity an argument",
     lambda: DYN.rollout(Q, V, V[:, None], 0.1, gravity=3)),
    ("forward_dynamics: got an unexpected keyword argument 'taau' (did you mean 'tau'?); call forward_dynamics(",
     lambda: DYN.forward_dynamics(Q, V, taau=V)),
    ("forward_dynamics: missing a required argument: 'v'", lambda: condyle.fixed_point(R).forward_dynamics(Q)),
    ("at.forward_dynamics: missing a required argument: 'tau'; call at.forward_dynamics(tau, f_ext=None)",
     lambda: R.function(lambda at: at.forward_dynamics(), {"q": "nq", "v": "nv"})),
]  # fmt: skip


@pytest.mark.parametrize(("said", "call"), WRONG, ids=[said for said, _ in WRONG])
def test_an_error_names_the_argument(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(CondyleError, match=rf"^{re.escape(said)}"):
        call()


@pytest.mark.parametrize(("said", "call"), CALLS, ids=[said for said, _ in CALLS])
def test_a_call_that_does_not_fit_is_told_what_the_call_takes(said: str, call: Callable[[], object]) -> None:
    with pytest.raises(TypeError, match=rf"^{re.escape(said)}"):
        call()
