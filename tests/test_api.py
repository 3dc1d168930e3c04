"""The door for users: options, shapes, dtypes, outputs, and what is said about a robot before anything runs."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable

import numpy as np
import pytest

import condyle
from condyle import DTypeError, Dynamics, Robot, ShapeError, UnsupportedError
from condyle.backends.cpu.build import supported
from condyle.functions import DEFAULT, FUNCTIONS
from condyle.runtime import machine
from tests.accuracies import ROUNDING
from tests.laws.robots import relative, robot_named, states

N = 4
needs_machine_code = pytest.mark.skipif(not supported(), reason="no machine code of ours runs here")


@pytest.fixture(scope="module")
def robot() -> Robot:
    return condyle.chain(4)


@pytest.fixture(scope="module", params=["numpy", "c", "cpu"])
def dyn(request: pytest.FixtureRequest, robot: Robot, compiled: Callable[..., Dynamics]) -> Dynamics:
    return compiled(robot) if request.param == "c" else robot.compile(target=request.param)


def arguments(robot: Robot, function: str) -> list[np.ndarray]:
    q, v, a, _ = states(robot, N)
    known = {"q": q, "v": v, "a": a, "tau": a, "Minv": np.tile(np.eye(robot.nv), (N, 1, 1))}
    return [known[port.name] for port in FUNCTIONS[function].inputs]


def outputs(answer: object) -> tuple[np.ndarray, ...]:
    return answer if isinstance(answer, tuple) else (answer,)


@pytest.mark.parametrize("function", DEFAULT)
def test_shapes(dyn: Dynamics, robot: Robot, function: str) -> None:
    """A state gives an answer without a batch; batches keep their shape and broadcast; none is fine too."""
    call, inputs = dyn.function(function), arguments(robot, function)
    shapes = [port.shape({"nv": 4, "nq": 4}) for port in FUNCTIONS[function].outputs]
    whole = outputs(call(*inputs))
    assert [x.shape for x in whole] == [(N, *shape) for shape in shapes]
    single = outputs(call(*(x[1] for x in inputs)))
    assert [x.shape for x in single] == shapes
    for one, all_rows in zip(single, whole, strict=True):
        assert np.array_equal(one, all_rows[1])
    grid = outputs(call(*(x.reshape(2, 2, *x.shape[1:]) for x in inputs)))
    assert [x.shape for x in grid] == [(2, 2, *shape) for shape in shapes]
    empty = outputs(call(*(x[:0] for x in inputs)))
    assert [x.shape for x in empty] == [(0, *shape) for shape in shapes]
    nothing = outputs(call(*(np.zeros((3, 0, *x.shape[1:])) for x in inputs)))
    assert [x.shape for x in nothing] == [(3, 0, *shape) for shape in shapes]


def test_broadcasting(dyn: Dynamics, robot: Robot) -> None:
    q, v, a, f_ext = states(robot, N)
    grid = dyn.inverse_dynamics(q[:, None], v, a[0], f_ext[0])
    assert grid.shape == (N, N, 4)
    assert np.array_equal(grid[2, 1], dyn.inverse_dynamics(q[2], v[1], a[0], f_ext[0]))


@pytest.mark.parametrize("function", ["id", "fd", "dfd"])
def test_a_function_with_forces_among_its_inputs_takes_them_once(robot: Robot, function: str) -> None:
    dyn, forced = robot.compile(target="numpy"), FUNCTIONS[function].taking("f_ext")
    inputs = [*arguments(robot, function), np.ones((len(robot.bodies), 6))]
    want = outputs(dyn.function(function)(*inputs[:-1], f_ext=inputs[-1]))
    found = outputs(dyn.function(forced)(*inputs))
    assert all(np.array_equal(x, y) for x, y in zip(found, want, strict=True))


def test_arguments_are_read_only_and_lists_convert(dyn: Dynamics, robot: Robot) -> None:
    q, v, a, _ = states(robot, N)
    kept = q.copy()
    for array in (q, v, a):
        array.flags.writeable = False
    tau = dyn.inverse_dynamics(q, v, a)
    assert np.array_equal(q, kept)
    assert np.array_equal(dyn.inverse_dynamics(q.tolist(), v.tolist(), a.tolist()), tau)
    assert np.array_equal(dyn.inverse_dynamics([0, 0, 0, 0], v[0], a[0]), dyn.inverse_dynamics(np.zeros(4), v[0], a[0]))


@pytest.mark.parametrize("function", DEFAULT)
def test_out(dyn: Dynamics, robot: Robot, function: str) -> None:
    call, inputs = dyn.function(function), arguments(robot, function)
    want = outputs(call(*inputs))
    given = tuple(np.full_like(x, np.nan) for x in want)
    got = outputs(call(*inputs, out=given if len(given) > 1 else given[0]))
    for one, own, expected in zip(got, given, want, strict=True):
        assert one is own
        assert np.array_equal(one, expected)
    assert type(call(*inputs)) is type(call(*inputs, out=given if len(given) > 1 else given[0]))


def test_names_of_the_derivatives(dyn: Dynamics, robot: Robot) -> None:
    q, v, a, Minv = arguments(robot, "difd")
    did = dyn.inverse_dynamics_derivatives(q, v, a)
    dfd = dyn.forward_dynamics_derivatives(q, v, a)
    difd = dyn.dynamics_derivatives(q, v, a, Minv)
    assert did._fields == ("dtau_dq", "dtau_dv")
    assert dfd._fields == ("da_dq", "da_dv", "da_dtau")
    assert difd._fields == ("da_dq", "da_dv")
    assert relative(difd.da_dq, -did.dtau_dq) < ROUNDING  # Minv was the identity
    assert relative(dfd.da_dtau, dyn.mass_matrix_inverse(q)) < ROUNDING


WRONG = {
    "q is transposed": (lambda q, v, a: (q.T, v, a), ShapeError, "transpose"),
    "q is too short": (lambda q, v, a: (q[:, :3], v, a), ShapeError, r"q has shape \(5, 3\)"),
    "batches differ": (lambda q, v, a: (q, v[:2], a), ShapeError, "broadcast"),
    "float32 for float64": (lambda q, v, a: (q.astype("f4"), v, a), DTypeError, r'astype\("float64"\)'),
    "complex numbers": (lambda q, v, a: (q + 0j, v, a), DTypeError, "real"),
    "text": (lambda q, v, a: (["a", "b", "c", "d"], v, a), DTypeError, "real numbers"),
    "a ragged list": (lambda q, v, a: ([[1.0], [1.0, 2.0]], v, a), ShapeError, "regular"),
}


@pytest.mark.parametrize("fault", WRONG)
def test_wrong_arrays(dyn: Dynamics, robot: Robot, fault: str) -> None:
    change, error, message = WRONG[fault]
    with pytest.raises(error, match=message):
        dyn.inverse_dynamics(*change(*states(robot, 5)[:3]))


def test_wrong_forces_and_outputs(dyn: Dynamics, robot: Robot) -> None:
    q, v, a, f_ext = states(robot, N)
    with pytest.raises(ShapeError, match="f_ext"):
        dyn.inverse_dynamics(q, v, a, f_ext[:, :3])
    with pytest.raises(TypeError):
        dyn.mass_matrix(q, f_ext=f_ext)  # type: ignore[call-arg]
    with pytest.raises(ShapeError, match="out"):
        dyn.inverse_dynamics(q, v, a, out=np.zeros((N, 3)))
    with pytest.raises(DTypeError, match="out"):
        dyn.inverse_dynamics(q, v, a, out=np.zeros((N, 4), np.float32))
    with pytest.raises(ShapeError, match="overlaps"):
        dyn.inverse_dynamics(q, v, a, out=q)


def test_routes_that_do_not_serve_mimic_joints_say_so() -> None:
    with pytest.raises(UnsupportedError, match="mimic"):
        robot_named("zoo").compile(routes={"fd": "aba"})


def test_a_named_route_is_what_runs(robot: Robot, compiled: Callable[..., Dynamics]) -> None:
    dyn = robot.compile(target="c", routes={"fd": "aba", "minv": "mminvgen"})
    said = {line.split()[0]: line.split()[1] for line in dyn.explain().splitlines()[1:]}
    assert (said["fd"], said["minv"]) == ("aba", "mminvgen")
    q, v, tau, _ = states(robot, N)
    assert relative(dyn.forward_dynamics(q, v, tau), compiled(robot).forward_dynamics(q, v, tau)) < 1e-9
    assert relative(dyn.mass_matrix_inverse(q), compiled(robot).mass_matrix_inverse(q)) < 1e-9


def test_signature_and_memory(dyn: Dynamics) -> None:
    assert {name: dyn.signature[name] for name in DEFAULT} == {
        "id": "(nq),(nv),(nv)->(nv)",
        "fd": "(nq),(nv),(nv)->(nv)",
        "m": "(nq)->(nv,nv)",
        "minv": "(nq)->(nv,nv)",
        "did": "(nq),(nv),(nv)->(nv,nv),(nv,nv)",
        "dfd": "(nq),(nv),(nv)->(nv,nv),(nv,nv),(nv,nv)",
        "difd": "(nq),(nv),(nv),(nv,nv)->(nv,nv),(nv,nv)",
    }
    assert dyn.signature["ke"] == "(nq),(nv)->()"
    assert dyn.signature["reg"] == "(nq),(nv),(nv)->(nv,10 n_bodies + n_regressor nv)"
    assert dyn.memory(10)["id"] == 10 * 8 * 16
    assert dyn.memory(10)["dfd"] == 10 * 8 * (12 + 48)


def test_explain_says_what_runs(dyn: Dynamics) -> None:
    text = dyn.explain(64)
    assert dyn.target in text
    assert "float64" in text
    assert "64" in text
    bound = {"frames", "reference_frame", "contacts"}
    named = {name: one for name, one in FUNCTIONS.items() if not one.needs.drives}
    served = [name for name, function in named.items() if not bound & {*function.options}]
    assert [line.split()[0] for line in text.splitlines()[1:]] == served


def test_float32_in_float32_out(robot: Robot) -> None:
    dyn = robot.compile(target="numpy", dtype="float32")
    q, v, a, _ = (x.astype(np.float32) for x in states(robot, N))
    assert dyn.dtype == np.float32
    assert dyn.inverse_dynamics(q, v, a).dtype == np.float32


def test_robots_pickle() -> None:
    for name in ("zoo", "floating-3", "hyq_floating"):
        robot = robot_named(name)
        copy = pickle.loads(pickle.dumps(robot))
        assert type(copy) is Robot
        assert copy.fingerprint == robot.fingerprint
        assert copy.joint_names == robot.joint_names
        q, v, a, _ = states(robot, N)
        answers = (one.compile(target="numpy").inverse_dynamics(q, v, a) for one in (robot, copy))
        assert np.array_equal(*answers)


def test_a_random_tree_stands_on_the_ground_unless_it_is_asked_for() -> None:
    fixed, floating = condyle.random_tree(3), condyle.random_tree(3, floating_base=True)
    assert len(floating.joints) == len(fixed.joints) + 1 == 4
    assert floating.joints[0].kind.is_free


def test_derivatives_pickle_with_what_they_are_by(robot: Robot) -> None:
    q, v, a, _ = states(robot, N)
    by_v = robot.compile(target="numpy").jacobian("id", by="v")
    assert np.array_equal(pickle.loads(pickle.dumps(by_v))(q, v, a), by_v(q, v, a))


def test_dynamics_pickle(dyn: Dynamics, robot: Robot) -> None:
    q, v, a, _ = states(robot, N)
    tau = dyn.inverse_dynamics(q, v, a)
    copy = pickle.loads(pickle.dumps(dyn))
    assert (copy.target, copy.dtype, copy.explain()) == (dyn.target, dyn.dtype, dyn.explain())
    assert np.array_equal(copy.inverse_dynamics(q, v, a), tau)


def test_first_calls_from_many_threads_at_once(robot: Robot) -> None:
    dyn = robot.compile()
    q, v, a, _ = states(robot, N)
    answers: list[np.ndarray] = []
    threads = [threading.Thread(target=lambda: answers.append(dyn.inverse_dynamics(q, v, a))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(answers) == 8
    assert all(np.array_equal(answer, answers[0]) for answer in answers)


def test_without_a_compiler_numpy_answers_and_says_so(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "")
    monkeypatch.setattr(machine, "instruction_sets", tuple)
    with pytest.warns(RuntimeWarning, match="NumPy answers"):
        dyn = robot.compile()
    assert dyn.target == "numpy"


def test_without_machine_code_c_answers(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine, "instruction_sets", tuple)
    assert robot.compile().target == "c"


@needs_machine_code
def test_cpu_is_machine_code_and_needs_no_compiler(robot: Robot, monkeypatch: pytest.MonkeyPatch) -> None:
    q, v, a, _ = states(robot, N)
    right = robot.compile(target="numpy").inverse_dynamics(q, v, a)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "")
    dyn = robot.compile()
    assert dyn.target == "cpu"
    assert dyn.explain(N).startswith("target cpu")
    assert relative(dyn.inverse_dynamics(q, v, a), right) < 1e-9
    assert relative(pickle.loads(pickle.dumps(dyn)).inverse_dynamics(q, v, a), right) < 1e-9


@pytest.mark.slow  # a chain of 200 links is compiled
@needs_machine_code
def test_loops_need_no_compiler_and_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """A long robot: machine code; where that cannot run and no compiler is there, NumPy and a warning."""
    robot = condyle.chain(200)  # long enough to be loops without a count, which takes long
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CC", "")
    dyn = robot.compile()
    lines = {line.split()[0]: line for line in dyn.explain().splitlines()[1:]}
    assert "rolled" in lines["did"] and "target" not in lines["did"]
    q, v, a, _ = states(robot, 2)
    slopes = dyn.inverse_dynamics_derivatives(q, v, a)
    other = robot.compile()
    for place in ("condyle.backends.cpu.build", "condyle.backends.cpu.build"):
        monkeypatch.setattr(f"{place}.supported", tuple)
    assert "target c" in other.explain()
    with pytest.warns(RuntimeWarning, match="NumPy answers"):
        right = other.inverse_dynamics_derivatives(q, v, a)
    assert relative(slopes.dtau_dq, right.dtau_dq) < 1e-10
    with pytest.warns(RuntimeWarning, match="NumPy answers"):
        assert robot.compile().target == "numpy"


def test_same_seed_same_robot() -> None:
    assert condyle.random_tree(5, rng=3).fingerprint == condyle.random_tree(5, rng=3).fingerprint
    assert condyle.random_tree(5, rng=3).fingerprint != condyle.random_tree(5, rng=4).fingerprint
    assert condyle.chain(5).nv == 5


def test_builder_builds_what_load_would(robot: Robot) -> None:
    """Options of `load` are options of `build`: a floating base, strictness, free mimic joints."""
    builder = condyle.Builder("pair")
    for name in ("base", "one", "two"):
        builder.body(name, mass=1.0, inertia=0.1 * np.eye(3))
    builder.joint("j1", parent="base", child="one", type="continuous", axis=(0, 0, 1))
    builder.joint("j2", parent="one", child="two", type="continuous", axis=(0, 1, 0), mimic=("j1", 2.0, 0.0))
    assert builder.build().nv == 1
    assert builder.build(floating_base=True, mimic="independent", strict=True).nv == 8
